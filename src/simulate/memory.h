// The arrays of a workload in memory that the simulator watches.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
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
                           w.shape.condition != reference::Condition::constant || a.name != "B",
                           {a.behind_aligned, a.row_bytes, a.distance, a.ahead});
      if (!a.bytes.empty()) std::memcpy(host(at), a.bytes.data(), a.bytes.size());
      pointers_.push_back(at);
    }
  }
  // As reference::Array defines it.
  struct Place {
    uint32_t behind_aligned = 0;
    uint64_t row_bytes = 0, distance = 0, ahead = 0;
  };
  // The address of zeroed memory beside the workload's arrays. `from_primary`: a kernel ahead on the stream writes it.
  void* add(const std::string& name, size_t bytes, simulator::Buffer::Use use, bool from_primary, Place place) {
    memory_.emplace_back((bytes + sizeof(Line) - 1) / sizeof(Line) + 1);
    auto* const own = reinterpret_cast<uint8_t*>(memory_.back().data());
    const bool spread = place.distance != 0 && bytes > place.row_bytes;
    const uint64_t row = spread ? place.row_bytes : bytes, rows = spread ? (bytes + row - 1) / row : 1;
    addresses_.emplace_back(place.behind_aligned + place.ahead + (rows - 1) * place.distance + row);
    auto* at = static_cast<uint8_t*>(addresses_.back().begin());
    at = at != nullptr ? at + place.behind_aligned : own;
    if ((spread || place.ahead != 0) && at == own)
      throw std::runtime_error("the system has no addresses left for rows that lie far apart.");
    for (uint64_t r = 0; r < rows; ++r) {
      // Vectors that hold the ends of a row may hold some of what lies between rows, where nobody writes.
      const bool input = use == simulator::Buffer::Use::input;
      const uint64_t ahead = spread && input && r > 0 ? kVector : 0, after = spread && input ? kVector : 0;
      const uint64_t first = r * row - ahead, end = std::min<uint64_t>((r + 1) * row + after, bytes);
      buffers_.push_back(
          {at + place.ahead + r * place.distance - ahead, end - first, name, use, from_primary, own + first});
    }
    wholes_.push_back({at, own, bytes});
    return at;
  }
  void* add(const std::string& name, size_t bytes, simulator::Buffer::Use use, bool from_primary = false) {
    return add(name, bytes, use, from_primary, Place{});
  }
  // Where the memory at an address that add() or pointers() gave can be read and written.
  void* host(const void* address) const {
    for (const Whole& a : wholes_)
      if (a.at == address) return a.host;
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
  // Where the host finds the contents of each.
  std::vector<void*> contents() const {
    std::vector<void*> list;
    for (void* const at : pointers_) list.push_back(host(at));
    return list;
  }
  const std::vector<simulator::Buffer>& buffers() const { return buffers_; }
  std::vector<uint8_t> output() const {
    const Whole& last = wholes_[pointers_.size() - 1];
    return {last.host, last.host + last.bytes};
  }

 private:
  struct alignas(128) Line {  // device allocations are aligned; the TMA wants 16 bytes
    uint8_t b[128] = {};
  };
  static constexpr uint64_t kVector = 16;
  struct Whole {
    void* at;
    uint8_t* host;
    size_t bytes;
  };
  std::vector<std::vector<Line>> memory_;
  std::vector<Whole> wholes_;
  std::vector<simulator::Addresses> addresses_;  // the addresses of each
  std::vector<void*> pointers_;
  std::vector<simulator::Buffer> buffers_;
};

}  // namespace warpwright::simulate
