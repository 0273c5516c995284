// Addresses without memory. A kernel under the checker is given these, and its words find the bytes behind them; code
// that dereferences one ends in a fault, which the checker reports.
#pragma once
#include <cstdint>
#include <utility>

namespace warpwright::simulator {

// A range of addresses that nothing is mapped to.
class Addresses {
 public:
  // This many bytes, with as many before and after them that belong to nobody, so that code that runs past an end meets
  // no neighbour.
  explicit Addresses(uint64_t bytes);
  ~Addresses();
  Addresses(Addresses&& other) noexcept
      : mapped_(std::exchange(other.mapped_, nullptr)), length_(other.length_), begin_(other.begin_) {}
  Addresses& operator=(Addresses&&) = delete;

  // As cudaMalloc aligns, and no better. Null where the system has no addresses left to give.
  void* begin() const { return begin_; }

 private:
  void* mapped_ = nullptr;
  uint64_t length_ = 0;
  void* begin_ = nullptr;
};

}  // namespace warpwright::simulator
