// What every recorder keeps: memory by its number, handles that are its own, and the log.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/recorder/verdict.h"

namespace recorder {

using Address = unsigned long long;

// Device memory. For a pretended device it is memory of the host, so that copies and fills can be done.
struct Buffer {
  int number = 0;  // in the order of allocation
  size_t bytes = 0;
  std::unique_ptr<uint8_t, void (*)(void*)> host{nullptr, nullptr};
};

// The value of a variable of this recorder ("LOG" of WARPWRIGHT_RECORDER_LOG); null: it is not set, or empty.
const char* variable(const char* name);
[[noreturn]] void stop(const std::string& sentence);

class Ledger {
 public:
  std::recursive_mutex mutex;
  std::map<Address, Buffer> buffers;

  // An allocation that holds all of it.
  std::map<Address, Buffer>::iterator holding(Address at, size_t bytes);
  void add_buffer(Address at, Buffer buffer);
  // Memory of the host that represents that of a pretended device; 0: there is none.
  Address take(size_t bytes);
  // A number that no other handle has.
  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(uintptr_t(0x10000) + 16 * ++handles_);
  }

  // {"buffer": 3, "offset": 16}; null where the address lies in none.
  nlohmann::json place(Address address);
  // The addresses among the bytes of arguments, each with its offset ("at"); zeros take their place.
  nlohmann::json take_addresses(std::vector<uint8_t>& bytes);

  // Adds what was answered and what the rules say of it, and returns the answer.
  int answer(nlohmann::json call, const Verdict& verdict, int answered);
  void write(const nlohmann::json& line);

 protected:
  // The variable LOG names the file of the log.
  Ledger();

 private:
  std::FILE* log_ = nullptr;
  uintptr_t handles_ = 0;
  int buffer_count_ = 0;
};

std::string hex(const std::vector<uint8_t>& bytes);

}  // namespace recorder
