// Clears the part of a stage in shared memory that lies outside of a group along k: threads write zeros there.
#pragma once
#include "warpwright/core/layout.h"
#include "warpwright/machine/machine.h"

namespace warpwright::inline WW_WORLD::kernel {

// By `Threads` threads of neighbouring warps, in `count` rows of a tile that is stored along k: the elements before
// `begin`, fewer than 16 bytes, and those from `end` to `stop`, a multiple of 16 bytes.
template <SmemTile Tile, int Threads>
WW_FN void clear_lines(Shared<uint8_t> lines, int count, int begin, int end, int stop) {
  static_assert(bits(Tile.type) == 16 && Tile.major == Major::K, "clear_depth: elements of two bytes, along k");
  constexpr int in_unit = 128 / bits(Tile.type);
  for (int line = int(machine::thread_index()) % Threads; line < count; line += Threads) {
    const auto clear = [&](int k) {
      machine::store(lines.plus_bytes(Tile.offset(line, k)).template as<uint16_t>(), uint16_t(0));
    };
    for (int k = 0; k < begin; ++k) clear(k);
    int k = end;
    for (; k % in_unit != 0; ++k) clear(k);
    for (; k < stop; k += in_unit) {
      machine::store(lines.plus_bytes(Tile.offset(line, k)).template as<Vec<uint32_t, 4>>(), Vec<uint32_t, 4>{});
    }
  }
}

// The same for an operand that is stored along m or n: rows of k from `end` to `stop`, in `count` panels of
// `panel_bytes`. A row is a line of the swizzle, which moves nothing out of it.
template <uint32_t PanelBytes, int Threads>
WW_FN void clear_panels(Shared<uint8_t> panels, int count, int end, int stop) {
  constexpr int units = int(swizzle_bytes(Swizzle::b128)) / 16;  // of 16 bytes, in a row
  const int thread = int(machine::thread_index()) % Threads, each = (stop - end) * units;
  for (int panel = 0; panel < count; ++panel) {
    const Shared<uint8_t> first =
        panels.plus_bytes(PanelBytes * uint32_t(panel)).plus_bytes(uint32_t(end * units * 16));
    for (int i = thread; i < each; i += Threads) {
      machine::store(first.plus_bytes(uint32_t(i) * 16).template as<Vec<uint32_t, 4>>(), Vec<uint32_t, 4>{});
    }
  }
}

}  // namespace warpwright::inline WW_WORLD::kernel
