// The buffers of a launch by the addresses that its kernel was given.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

// The least number of bytes before and after a buffer that belong to no other (warpwright/sim/addresses.h): an address
// there was meant for that buffer.
inline constexpr uint64_t kAddressMargin = 1 << 20;

// The buffer that holds all of these bytes, or null.
const Buffer* buffer_of(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes);

// Where the byte at an address lies; the address itself if no buffer holds it.
uint8_t* host_of(const std::vector<Buffer>& buffers, const void* p);

// The buffer that an address was meant for: one that holds it, or one whose edge is no farther away than its length.
const Buffer* buffer_near(const std::vector<Buffer>& buffers, const void* p);

// "D+128"; outside every buffer, relative to the nearest edge: "16 bytes past the end of D, which has 1200
// bytes".
std::string name_of_global(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes = 1);

}  // namespace warpwright::simulator
