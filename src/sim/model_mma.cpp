// Operands of the matrix units, their product, and the register fragments of wgmma, ldmatrix and stmatrix.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

template <class T, int Codes>
constexpr std::array<float, Codes> make_table() {
  std::array<float, Codes> table{};
  for (int code = 0; code < Codes; ++code) table[size_t(code)] = to_float(T{uint8_t(code)});
  return table;
}
constexpr auto kE4m3 = make_table<e4m3, 256>();
constexpr auto kE5m2 = make_table<e5m2, 256>();
constexpr auto kE2m1 = make_table<e2m1, 16>();

// to_float(fp16) without branches: the exponent is rebased by a multiplication, which also normalizes subnormals.
float half_to_float(uint32_t code) {
  const uint32_t magnitude = (code & 0x7fff) << 13;
  const float rebased = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = uint32_t(-(magnitude >= 0x0f80'0000u)) & 0x7f80'0000u;  // infinity or NaN
  return std::bit_cast<float>(std::bit_cast<uint32_t>(rebased) | special | (code & 0x8000) << 16);
}

// Elements in one 16-byte chunk of shared memory.
int chunk_elements(DType type, Packing packing) {
  return type == DType::e2m1 ? (packing == Packing::padded ? 16 : 32) : 128 / bits(type);
}
// The type whose addresses a chunk's elements have: a padded 4-bit value owns a byte of address space.
DType address_type(DType type, Packing packing) {
  return type == DType::e2m1 && packing == Packing::padded ? DType::e4m3 : type;
}

// Converts the `N` elements that start at `from`.
template <DType T, int N>
void convert(const uint8_t* from, float* to) {
  if constexpr (T == DType::e2m1) {
    for (int i = 0; i < N / 2; ++i) {
      to[2 * i] = kE2m1[from[i] & 0xf];
      to[2 * i + 1] = kE2m1[from[i] >> 4];
    }
  } else if constexpr (bits(T) == 8) {
    for (int i = 0; i < N; ++i) {
      if constexpr (T == DType::e4m3) to[i] = kE4m3[from[i]];
      if constexpr (T == DType::e5m2) to[i] = kE5m2[from[i]];
      if constexpr (T == DType::s8) to[i] = float(int8_t(from[i]));
    }
  } else if constexpr (bits(T) == 16) {
    uint16_t codes[N];
    std::memcpy(codes, from, sizeof(codes));
    for (int i = 0; i < N; ++i) {
      to[i] = T == DType::bf16 ? std::bit_cast<float>(uint32_t(codes[i]) << 16) : half_to_float(codes[i]);
    }
  } else {
    uint32_t words[N];
    std::memcpy(words, from, sizeof(words));
    for (int i = 0; i < N; ++i) {
      to[i] = T == DType::tf32 ? to_float(tf32{words[i]}) : std::bit_cast<float>(words[i]);
    }
  }
}

template <DType T, int N>
void gather(const MatrixDesc& d, Arch arch, DType address_as, Major major, int mn, int k, const uint8_t* shared,
            float* out) {
  if (major == Major::K && k % N == 0) {
    for (int row = 0; row < mn; ++row) {
      for (int j = 0; j < k; j += N) {
        convert<T, N>(shared + (operand_address(d, arch, address_as, Major::K, row, j) & kDescAddressMask), out + j);
      }
      out += k;
    }
    return;
  }
  float chunk[N];
  const bool along_k = major == Major::K;
  const int step_mn = along_k ? 1 : N, step_k = along_k ? N : 1;
  for (int row = 0; row < mn; row += step_mn) {
    for (int j = 0; j < k; j += step_k) {
      convert<T, N>(shared + (operand_address(d, arch, address_as, major, row, j) & kDescAddressMask), chunk);
      const int count = std::min(N, along_k ? k - j : mn - row);
      for (int i = 0; i < count; ++i) out[along_k ? row * k + j + i : (row + i) * k + j] = chunk[i];
    }
  }
}

// f(tag) with the type as a constant; scale types are not operands.
template <class F>
void with_operand_type(DType type, F f) {
  switch (type) {
    case DType::bf16:
      return f(std::integral_constant<DType, DType::bf16>{});
    case DType::fp16:
      return f(std::integral_constant<DType, DType::fp16>{});
    case DType::tf32:
      return f(std::integral_constant<DType, DType::tf32>{});
    case DType::fp32:
      return f(std::integral_constant<DType, DType::fp32>{});
    case DType::e4m3:
      return f(std::integral_constant<DType, DType::e4m3>{});
    case DType::e5m2:
      return f(std::integral_constant<DType, DType::e5m2>{});
    case DType::e2m1:
      return f(std::integral_constant<DType, DType::e2m1>{});
    case DType::s8:
      return f(std::integral_constant<DType, DType::s8>{});
    case DType::ue8m0:
    case DType::ue4m3:
      break;
  }
}

constexpr int kWarpgroup = 128;
// Row of accumulator registers 0 and 1 of a thread of the warpgroup; 2 and 3 are eight rows below, and so on by fours.
constexpr int fragment_row(int thread) { return 16 * (thread / 32) + thread % 32 / 4; }

}  // namespace

void operand_pieces(const MatrixDesc& d, Arch arch, DType type, Major major, int mn, int k, std::vector<Piece>& out,
                    Packing packing) {
  const int elements = chunk_elements(type, packing);
  const DType address_as = address_type(type, packing);
  const bool along_k = major == Major::K;
  const int step_mn = along_k ? 1 : elements, step_k = along_k ? elements : 1;
  for (int row = 0; row < mn; row += step_mn) {
    for (int j = 0; j < k; j += step_k) {
      const int count = std::min(elements, along_k ? k - j : mn - row);
      out.push_back({operand_address(d, arch, address_as, major, row, j) & kDescAddressMask,
                     uint32_t(count * bits(type) + 7) / 8});
    }
  }
}

void gather_operand(const MatrixDesc& d, Arch arch, DType type, Major major, int mn, int k, const uint8_t* shared,
                    float* out, Packing packing) {
  const DType address_as = address_type(type, packing);
  with_operand_type(type, [&]<DType T>(std::integral_constant<DType, T>) {
    if (T == DType::e2m1 && packing == Packing::padded) {
      gather<T, 16>(d, arch, address_as, major, mn, k, shared, out);
    } else {
      gather<T, 128 / bits(T)>(d, arch, address_as, major, mn, k, shared, out);
    }
  });
}

void scatter_accumulators(int n, const float* d, float* const* acc_regs) {
  for (int thread = 0; thread < kWarpgroup; ++thread) {
    const float* upper = d + fragment_row(thread) * n + 2 * (thread % 4);
    const float* lower = upper + 8 * n;
    float* regs = acc_regs[thread];
    for (int g = 0; g < n / 8; ++g) {
      std::memcpy(regs + 4 * g, upper + 8 * g, 8);
      std::memcpy(regs + 4 * g + 2, lower + 8 * g, 8);
    }
  }
}

void gather_accumulators(int n, float* d, const float* const* acc_regs) {
  for (int thread = 0; thread < kWarpgroup; ++thread) {
    float* upper = d + fragment_row(thread) * n + 2 * (thread % 4);
    float* lower = upper + 8 * n;
    const float* regs = acc_regs[thread];
    for (int g = 0; g < n / 8; ++g) {
      std::memcpy(upper + 8 * g, regs + 4 * g, 8);
      std::memcpy(lower + 8 * g, regs + 4 * g + 2, 8);
    }
  }
}

void gather_a_fragment(DType type, const uint32_t* const* a_regs, float* out) {
  with_operand_type(type, [&]<DType T>(std::integral_constant<DType, T>) {
    constexpr int kElements = 32 / bits(T);  // in one register
    constexpr int kDepth = mma_k(T);
    for (int thread = 0; thread < kWarpgroup; ++thread) {
      for (int i = 0; i < 4; ++i) {
        uint8_t bytes[4];
        std::memcpy(bytes, &a_regs[thread][i], 4);
        const int row = fragment_row(thread) + 8 * (i % 2);
        const int column = kElements * (thread % 4) + 4 * kElements * (i / 2);
        convert<T, kElements>(bytes, out + row * kDepth + column);
      }
    }
  });
}

void ldmatrix(int count, bool transpose, const uint8_t* const* rows, uint32_t* regs) {
  for (int j = 0; j < count; ++j) {
    uint16_t matrix[8][8];
    for (int r = 0; r < 8; ++r) std::memcpy(matrix[r], rows[8 * j + r], 16);
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, c = 2 * (lane % 4);
      const uint32_t low = transpose ? matrix[c][r] : matrix[r][c];
      const uint32_t high = transpose ? matrix[c + 1][r] : matrix[r][c + 1];
      regs[lane * count + j] = low | high << 16;
    }
  }
}

void stmatrix(int count, bool transpose, uint8_t* const* rows, const uint32_t* regs) {
  for (int j = 0; j < count; ++j) {
    uint16_t matrix[8][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, c = 2 * (lane % 4);
      const uint32_t pair = regs[lane * count + j];
      (transpose ? matrix[c][r] : matrix[r][c]) = uint16_t(pair);
      (transpose ? matrix[c + 1][r] : matrix[r][c + 1]) = uint16_t(pair >> 16);
    }
    for (int r = 0; r < 8; ++r) std::memcpy(rows[8 * j + r], matrix[r], 16);
  }
}

}  // namespace warpwright::simulator::model
