// How a call of the host API ended: a code for programs, a sentence for people. Nothing in the API throws.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace warpwright {

// The numbers are part of the C interface.
enum class Code : int32_t {
  ok = 0,
  invalid_argument = 1,  // the call breaks a rule; the sentence names the argument, its value and the rule
  unsupported = 2,       // a legal problem that no kernel of this version serves
  missing = 3,           // the machine lacks a driver, a GPU, a compiler, device memory
  failed = 4,            // CUDA or a compiler failed on a legal call
};

// ok, or a code with a sentence. Ignoring one is a warning.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return sentence_; }

 private:
  Code code_ = Code::ok;
  std::string sentence_;
};

// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }
  // Only for a result that is ok.
  T& value() { return *std::get_if<0>(&state_); }
  const T& value() const { return *std::get_if<0>(&state_); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace warpwright
