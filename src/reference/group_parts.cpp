#include "reference/group_parts.h"

#include <algorithm>
#include <cstddef>

namespace warpwright::reference {
namespace {

std::vector<GroupPart> parts_along_k(const GroupedProduct& s) {
  std::vector<GroupPart> list;
  const int64_t unit = s.type == DType::e4m3 ? kScaleBlock : 1;
  const auto offset = [&](int g) { return std::min<int64_t>(s.rows[size_t(g)], s.shape.k) / unit * unit; };
  int64_t end = s.rows.empty() ? 0 : offset(0);
  for (int g = 0; g < s.group_count(); ++g) {
    const int64_t begin = end;
    end = std::max(end, offset(g + 1));
    list.push_back({0, s.shape.m, 0, begin, end, g * s.shape.m, g});
  }
  return list;
}

}  // namespace

std::vector<GroupPart> parts_of(const GroupedProduct& s) {
  if (s.groups == Groups::none) return {{0, s.shape.m, 0, 0, s.shape.k, 0, 0}};
  if (s.groups == Groups::by_depth) return parts_along_k(s);
  std::vector<GroupPart> list;
  const int64_t slot = s.groups == Groups::masked ? s.shape.m / std::max(s.group_count(), 1) : 0;
  int64_t end = s.rows.empty() ? 0 : std::min<int64_t>(s.rows[0], s.shape.m);
  for (int g = 0; g < s.group_count(); ++g) {
    const int64_t matrix = s.matrices.empty() ? g : s.matrices[size_t(g)];
    GroupPart part{g * slot, 0, matrix, 0, s.shape.k, 0, matrix};
    if (s.groups == Groups::masked) {
      part.end = part.first + std::min<int64_t>(s.rows[size_t(g)], slot);
    } else {
      part.first = end;
      part.end = end = std::max(end, std::min<int64_t>(s.rows[size_t(g) + 1], s.shape.m));
    }
    part.out = part.first;
    if (matrix >= 0 && matrix < s.matrices_given()) list.push_back(part);
  }
  return list;
}

uint32_t faults_of(const GroupedProduct& s) {
  uint32_t found = 0;
  const auto is = [&](bool wrong, uint32_t fault) { found |= wrong ? fault : 0u; };
  const bool by_depth = s.groups == Groups::by_depth;
  const int64_t extent = by_depth ? s.shape.k : s.shape.m, unit = by_depth && s.type == DType::e4m3 ? kScaleBlock : 1;
  for (const int32_t matrix : s.matrices) is(matrix >= s.matrices_given(), kMatrixOutOfRange);
  if (s.groups == Groups::masked) {
    const int64_t slot = s.shape.m / std::max(s.group_count(), 1);
    for (const uint32_t count : s.rows) is(count > slot, kRowsOutOfRange);
    return found;
  }
  int64_t reached = 0;
  for (const uint32_t stored : s.rows) {
    const int64_t value = std::min<int64_t>(stored, extent), offset = value / unit * unit;
    is(stored > extent, kRowsOutOfRange);
    is(value % unit != 0, kDepthUnaligned);
    is(offset < reached, kOffsetsDecrease);
    reached = std::max(reached, offset);
  }
  // Rows that no group has are not looked up.
  for (const GroupPart& part : s.gathered() ? parts_of(s) : std::vector<GroupPart>()) {
    for (int64_t r = part.first; r < part.end; ++r) {
      is(s.index[size_t(r)] < 0 || s.index[size_t(r)] >= s.a_rows, kIndexOutOfRange);
    }
  }
  return found;
}

int64_t taken_row(const GroupedProduct& product, int64_t a_rows, int64_t r) {
  const int64_t from = product.gathered() ? product.index[size_t(r)] : r;
  return from < 0 || from >= a_rows ? -1 : from;
}

}  // namespace warpwright::reference
