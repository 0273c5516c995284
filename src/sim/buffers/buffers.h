// The buffers of a launch by the addresses that its kernel was given.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/sim/simulator.h"

namespace warpwright::simulator {

// Bytes before and after a buffer that belong to nobody, at least (warpwright/sim/addresses.h): what lies there meant
// that buffer.
inline constexpr uint64_t kAddressMargin = 1 << 20;

// The buffer that holds all of these bytes, or null.
const Buffer* buffer_of(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes);

// Where the byte of an address lies; the address itself where no buffer holds it.
uint8_t* host_of(const std::vector<Buffer>& buffers, const void* p);

// The buffer that an address meant: one that holds it, or whose edge is not farther than the buffer is long.
const Buffer* buffer_near(const std::vector<Buffer>& buffers, const void* p);

// "D+128"; outside of every buffer by the nearest edge: "16 bytes past the end of D, which has
// 1200 bytes".
std::string name_of_global(const std::vector<Buffer>& buffers, const void* p, uint64_t bytes = 1);

}  // namespace warpwright::simulator
