// The arrays of a workload in memory that the simulator watches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "reference/workload.h"
#include "warpwright/sim/addresses.h"
#include "warpwright/sim/simulator.h"

namespace warpwright::simulate {

class Arrays {
 public:
  explicit Arrays(const reference::Workload& w) {
    const bool in_place = w.shape.condition == reference::Condition::in_place;
    for (const reference::Array& a : w.arrays) {
      void* const at = add(a.name, a.bytes.size(),
                           a.output && !in_place   ? simulator::Buffer::Use::output
                           : a.output || a.scratch ? simulator::Buffer::Use::inout
                                                   : simulator::Buffer::Use::input,
                           w.shape.condition != reference::Condition::constant || a.name != "B");
      if (!a.bytes.empty()) std::memcpy(host(at), a.bytes.data(), a.bytes.size());
      pointers_.push_back(at);
    }
  }
  // The address of zeroed memory beside the workload's arrays. `from_primary`: a kernel ahead on the stream writes it.
  void* add(std::string name, size_t bytes, simulator::Buffer::Use use, bool from_primary = false) {
    memory_.emplace_back((bytes + sizeof(Line) - 1) / sizeof(Line) + 1);
    void* const own = memory_.back().data();
    addresses_.emplace_back(bytes);
    void* const at = addresses_.back().begin() != nullptr ? addresses_.back().begin() : own;
    buffers_.push_back({at, bytes, std::move(name), use, from_primary, own});
    return at;
  }
  // Where what lies at an address that add() or pointers() gave can be read and written.
  void* host(const void* address) const {
    for (const simulator::Buffer& b : buffers_)
      if (b.data == address) return b.host;
    return nullptr;
  }

  // D begins as C does: both lie alike.
  void start_in_place(const reference::Workload& w) {
    for (const reference::Array& a : w.arrays) {
      if (a.name == "C") std::memcpy(host(pointers_.back()), a.bytes.data(), a.bytes.size());
    }
  }
  // D as it was before the launch.
  void forget_output(const reference::Workload& w) {
    std::memcpy(host(pointers_.back()), w.output().bytes.data(), w.output().bytes.size());
  }

  // What the kernel is given for the workload's arrays.
  const std::vector<void*>& pointers() const { return pointers_; }
  // Where the host finds what lies there.
  std::vector<void*> contents() const {
    std::vector<void*> list;
    for (void* const at : pointers_) list.push_back(host(at));
    return list;
  }
  const std::vector<simulator::Buffer>& buffers() const { return buffers_; }
  std::vector<uint8_t> output() const {
    const simulator::Buffer& last = buffers_[pointers_.size() - 1];
    const auto* const from = static_cast<const uint8_t*>(last.host);
    return {from, from + last.bytes};
  }

 private:
  struct alignas(128) Line {  // device allocations are aligned; the TMA wants 16 bytes
    uint8_t b[128] = {};
  };
  std::vector<std::vector<Line>> memory_;
  std::vector<simulator::Addresses> addresses_;  // the addresses of each
  std::vector<void*> pointers_;
  std::vector<simulator::Buffer> buffers_;
};

}  // namespace warpwright::simulate
