// Tensor memory: where registers, accumulators, copies and scale factors lie.
#include <cstring>
#include <optional>
#include <vector>

#include "sim/model.h"
#include "warpwright/core/numeric.h"

namespace warpwright::simulator::model {
namespace {

int lane_of(uint32_t address) { return int(address >> 16); }
int column_of(uint32_t address) { return int(address & 0xffff); }

// Addresses wrap inside tensor memory, so that a wrong one cannot leave the array; the engine reports it.
uint32_t cell_index(int lane, int column) { return uint32_t(lane % kTmemLanes * kTmemColumns + column % kTmemColumns); }

// tcgen05.cp in the order of machine::TmemCopy: `rows` of `bytes` in shared memory; source row r goes to lane
// r * lane_step, and again every replica_step lanes.
struct CopyShape {
  int rows, bytes, lane_step, replicas, replica_step;
};
constexpr CopyShape kCopyShapes[] = {
    {128, 32, 1, 1, 0},  // 128x256b
    {128, 16, 1, 1, 0},  // 128x128b
    {4, 32, 32, 1, 0},   // 4x256b: one lane in each quarter
    {64, 16, 1, 2, 64},  // 64x128b.warpx2::02_13
    {32, 16, 1, 4, 32},  // 32x128b.warpx4
};

}  // namespace

TmemCell tmem_register_cell(int shape, int reg, int lane, uint32_t address) {
  int row = 0, column = 0;
  switch (shape) {
    case 0:  // 32x32b: one lane per thread, one column per register
      row = lane;
      column = reg;
      break;
    case 1:  // 16x64b: odd threads hold the lower eight rows
      row = lane / 4 + 8 * (lane % 2);
      column = lane / 2 % 2 + 2 * reg;
      break;
    case 2:  // 16x128b
      row = lane / 4 + 8 * (reg % 2);
      column = lane % 4 + 4 * (reg / 2);
      break;
    default:  // 16x256b: the accumulator fragment of mma and wgmma
      row = lane / 4 + 8 * (reg / 2 % 2);
      column = 2 * (lane % 4) + reg % 2 + 8 * (reg / 4);
      break;
  }
  return {lane_of(address) + row, column_of(address) + column};
}

std::optional<TmemCell> accumulator_cell(int mma_m, int mma_n, int cta_group, int cta_in_pair, int m, int n) {
  const int rows = mma_m / cta_group;  // of each CTA
  if (m / rows != cta_in_pair) return std::nullopt;
  const int row = m % rows;
  if (rows == kTmemLanes) return TmemCell{row, n};
  // 64 rows. Alone, each warp's quarter holds sixteen of them (F); in a pair, the right half of N lies below the left
  // (B).
  if (cta_group == 1) return TmemCell{32 * (row / 16) + row % 16, n};
  const int half = mma_n / 2;
  return TmemCell{row + 64 * (n / half), n % half};
}

void multiply_tmem(int mma_m, int mma_n, int cta_group, int k, const float* a, const float* b, uint32_t* cells,
                   uint32_t address, bool accumulate) {
  const int rows = mma_m / cta_group;
  // The columns of a row are neighbours up to the width of the layout: all of N, or half of it in layout B.
  const int width = cta_group == 2 && rows == 64 ? mma_n / 2 : mma_n;
  float* lanes[kTmemLanes];
  for (int first = 0; first < mma_n; first += width) {
    for (int row = 0; row < rows; ++row) {
      const TmemCell cell = *accumulator_cell(mma_m, mma_n, cta_group, 0, row, first);
      // Cells are only ever read and written as bytes, so they may be called floats.
      lanes[row] = reinterpret_cast<float*>(cells + cell_index(lane_of(address) + cell.lane, column_of(address)));
    }
    multiply_rows(rows, width, k, a, b + first * k, lanes, accumulate);
  }
}

void gather_tmem_operand(DType type, int mma_m, int cta_group, int k, const uint32_t* cells, uint32_t address,
                         float* out) {
  const int element_bits = bits(type);
  for (int row = 0; row < mma_m / cta_group; ++row) {
    const int lane = lane_of(address) + accumulator_cell(mma_m, 2, cta_group, 0, row, 0)->lane;
    for (int j = 0; j < k; ++j) {
      const int bit = j * element_bits;
      const uint32_t word = cells[cell_index(lane, column_of(address) + bit / 32)] >> (bit % 32);
      float value = 0;
      switch (type) {
        case DType::bf16:
          value = to_float(bf16{uint16_t(word)});
          break;
        case DType::fp16:
          value = to_float(fp16{uint16_t(word)});
          break;
        case DType::tf32:
          value = to_float(tf32{word});
          break;
        case DType::fp32:
          value = stdx::bit_cast<float>(word);
          break;
        case DType::e4m3:
          value = to_float(e4m3{uint8_t(word)});
          break;
        case DType::e5m2:
          value = to_float(e5m2{uint8_t(word)});
          break;
        case DType::e2m1:
          value = to_float(e2m1{uint8_t(word & 0xf)});
          break;
        case DType::s8:
          value = float(int8_t(word));
          break;
        case DType::ue8m0:
        case DType::ue4m3:
          break;  // scale factors are not operands
      }
      out[row * k + j] = value;
    }
  }
}

void tcgen05_cp(int shape, const MatrixDesc& desc, const uint8_t* shared, uint32_t tmem_address, uint32_t* cells,
                std::vector<Piece>* touched, std::vector<TmemCell>* written) {
  const CopyShape& s = kCopyShapes[shape];
  for (int row = 0; row < s.rows; ++row) {
    for (int byte = 0; byte < s.bytes; byte += 16) {
      // The source is the canonical K-major layout; only its bytes count, so any 8-bit type names them.
      const uint32_t from = operand_address(desc, Arch::sm100, DType::e4m3, Major::K, row, byte) & kDescAddressMask;
      if (touched != nullptr) touched->push_back({from, 16});
      for (int word = 0; word < 4; ++word) {
        uint32_t value;
        std::memcpy(&value, shared + from + 4 * word, 4);
        for (int replica = 0; replica < s.replicas; ++replica) {
          const TmemCell cell{lane_of(tmem_address) + row * s.lane_step + replica * s.replica_step,
                              column_of(tmem_address) + byte / 4 + word};
          cells[cell_index(cell.lane, cell.column)] = value;
          if (written != nullptr) written->push_back(cell);
        }
      }
    }
  }
}

float block_scale(DType scale_type, const uint32_t* cells, uint32_t tmem_address, int i, int block, int scale_id,
                  int quarter) {
  const int lane = lane_of(tmem_address) + 32 * quarter + i % 32;
  const int column = column_of(tmem_address) + i / 32;
  const uint8_t code = uint8_t(cells[cell_index(lane, column)] >> (8 * ((scale_id + block) % 4)));
  return scale_type == DType::ue8m0 ? to_float(ue8m0{code}) : to_float(ue4m3{code});
}

std::optional<TmemCell> unequal_scale(const uint32_t* cells, uint32_t tmem_address, int rows, int blocks, int scale_id,
                                      bool halves) {
  uint32_t used = 0;
  for (int block = 0; block < blocks; ++block) used |= 0xffu << (8 * ((scale_id + block) % 4));
  for (int i = 0; i < rows; ++i) {
    const int column = column_of(tmem_address) + i / 32;
    for (int quarter = 1; quarter < 4; ++quarter) {
      const int lane = lane_of(tmem_address) + i % 32, first = halves ? quarter / 2 * 64 : 0;
      const uint32_t a = cells[cell_index(lane + first, column)], b = cells[cell_index(lane + 32 * quarter, column)];
      if (((a ^ b) & used) != 0) return TmemCell{lane + 32 * quarter, column};
    }
  }
  return std::nullopt;
}

std::optional<TmemCell> unequal_rows(const uint32_t* cells, uint32_t tmem_address, int columns) {
  for (int row = 0; row < 64; ++row)
    for (int i = 0; i < columns; ++i) {
      const int lane = lane_of(tmem_address) + row, column = column_of(tmem_address) + i;
      if (cells[cell_index(lane, column)] != cells[cell_index(lane + 64, column)]) return TmemCell{lane + 64, column};
    }
  return std::nullopt;
}

}  // namespace warpwright::simulator::model
