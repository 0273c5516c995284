// A growing array for constant evaluation. It replaces std::vector, because a kernel compiled by NVRTC makes its
// schedule too and has no standard containers.
#pragma once
#include "warpwright/core/std.h"
#if defined(__CUDACC_RTC__)
#include <cuda/std/initializer_list>
#else
#include <initializer_list>
#endif

namespace warpwright::schedule {

// T has a default value; elements beyond the size hold it.
template <class T>
class List {
 public:
  constexpr List() = default;
  constexpr explicit List(size_t n, const T& value = {}) {
    reserve(n);
    for (; size_ < n; ++size_) data_[size_] = value;
  }
  constexpr List(std::initializer_list<T> values) {
    reserve(values.size());
    for (const T& v : values) push_back(v);
  }
  constexpr List(const List& other) {
    reserve(other.size_);
    for (const T& v : other) push_back(v);
  }
  constexpr List(List&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  // Two operators and no parameter by value: nvcc 13 does not destroy one that is made from {}.
  constexpr List& operator=(const List& other) {
    List copy(other);
    return *this = static_cast<List&&>(copy);
  }
  constexpr List& operator=(List&& other) noexcept {
    swap(data_, other.data_);
    swap(size_, other.size_);
    swap(capacity_, other.capacity_);
    return *this;
  }
  constexpr ~List() { delete[] data_; }

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t i) { return data_[i]; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr const T& front() const { return data_[0]; }

  constexpr void push_back(const T& value) {
    if (size_ == capacity_) {
      const T kept = value;  // value may live in this list
      reserve(size_ < 4 ? 8 : 2 * size_);
      data_[size_++] = kept;
    } else {
      data_[size_++] = value;
    }
  }
  constexpr void append(const List& other) {
    const size_t count = other.size_;  // other may be this list
    for (size_t i = 0; i < count; ++i) push_back(other.data_[i]);
  }
  constexpr void pop_back() { data_[--size_] = T{}; }
  constexpr void resize(size_t n) {
    while (size_ > n) pop_back();
    while (size_ < n) push_back(T{});
  }
  constexpr void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    pop_back();
  }
  // Elements [from, to).
  constexpr List slice(size_t from, size_t to) const {
    List out;
    out.reserve(to - from);
    for (size_t i = from; i < to; ++i) out.push_back(data_[i]);
    return out;
  }
  constexpr void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    T* const moved = new T[capacity]();
    for (size_t i = 0; i < size_; ++i) moved[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = moved;
    capacity_ = capacity;
  }

  constexpr bool operator==(const List& other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }

 private:
  template <class U>
  static constexpr void swap(U& a, U& b) {
    const U kept = a;
    a = b;
    b = kept;
  }
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace warpwright::schedule
