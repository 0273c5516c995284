#include "reference/group_tables.h"

#include <algorithm>
#include <cstddef>

namespace warpwright::reference::tables {
namespace {

constexpr uint32_t kFarBeyond = ~15u;  // a small negative number for who takes it to be signed

}  // namespace

std::vector<uint32_t> many_offsets(uint32_t extent, uint32_t unit) {
  std::vector<uint32_t> offsets;
  for (uint32_t g = 0; g <= kManyGroups; ++g) offsets.push_back(extent / unit * g / kManyGroups * unit);
  offsets[3] = offsets[4] = offsets[2];
  offsets[20] = offsets[10];
  offsets[33] = offsets[34] = offsets[25];
  if (unit > 1) offsets[30] += 5;
  offsets[kManyGroups - 2] = kFarBeyond;
  return offsets;
}

std::vector<uint32_t> many_counts(uint32_t slot) {
  std::vector<uint32_t> counts;
  const uint32_t kinds[] = {slot, 0, slot / 3, slot - (slot > 0 ? 1 : 0), kFarBeyond};
  for (uint32_t g = 0; g < kManyGroups; ++g) counts.push_back(kinds[g % 5]);
  return counts;
}

std::vector<uint32_t> exact_counts(uint32_t tall) { return {tall + 64, 64, tall}; }

std::vector<uint32_t> four_along_k(Case s, uint32_t unit, uint32_t deep) {
  std::vector<uint32_t> ends;
  const uint32_t units = uint32_t(s.k) / unit, first = units / 7;
  const uint32_t second = first + (units / 2 - first) / (deep / unit) * (deep / unit);
  for (const uint32_t end : {first, first, second, units / 2 + units / 5, units - units / 9})
    ends.push_back(end * unit);
  // Rounded down, which is to be told of this one too.
  if (unit > 1 && s.condition == Condition::real) ends[0] += 5;
  return ends;
}

std::vector<uint32_t> one_large_group(bool masked, Case s) {
  const auto m = uint32_t(s.m);
  if (masked) return {0, m / kGroups, 0, 1};
  return {1, 2, 2, m - 1, m};
}

std::vector<int32_t> many_matrices(int count) {
  std::vector<int32_t> matrices;
  for (int g = 0; g < kManyGroups; ++g) matrices.push_back(g % 4 == 1 ? -1 : (g * 2 + 2) % count);
  // In every sort of table one of the two has rows.
  matrices[35] = count;
  matrices[36] = INT32_MAX;
  return matrices;
}

int64_t gathered_from(Case s) { return s.m / 2 + 16; }

std::vector<int32_t> index_of(Case s) {
  std::vector<int32_t> index;
  const auto rows = int32_t(gathered_from(s));
  for (int64_t i = 0; i < s.m; ++i) {
    const auto row = int32_t(i * 37 + 5) % rows;
    index.push_back(row % 16 == 7 ? row - 1 : row);
  }
  // Rows that A does not have, on one side of it at a time: one fault reports either side. A single lane meets them,
  // and not the one that may speak for its warp. The row after the last one is named once, not among the first of a
  // tile.
  if (s.condition == Condition::varied) {
    for (int64_t i = 3; i < s.m; i += 32) index[size_t(i)] = i % 64 == 3 ? -1 : INT32_MIN;
  }
  if (s.condition == Condition::real) index[size_t(std::min(s.m / 16 + 9, s.m - 1))] = rows;
  return index;
}

std::vector<int32_t> six_matrices() { return {2, 0, 3, -1, 2, 1}; }

std::vector<uint32_t> six_groups(Case s) {
  const auto m = uint32_t(s.m);
  std::vector<uint32_t> starts = {0};
  for (const uint32_t rows : {m / 16, 0u, m / 3, m / 8, m > 8 ? 1u : 0u}) starts.push_back(starts.back() + rows);
  starts.push_back(m);
  return starts;
}

std::vector<uint32_t> forty_groups(Case s) {
  std::vector<uint32_t> starts = {0};
  for (int g = 1; g < kManyGroups; ++g) {
    starts.push_back(g % 3 == 0 ? starts.back() : uint32_t(s.m * g / kManyGroups));
  }
  starts.push_back(uint32_t(s.m));
  return starts;
}

}  // namespace warpwright::reference::tables
