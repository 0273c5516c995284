// Functional models of the tensor engines: pure arithmetic on bytes, no scheduling and no checking. The engine decides
// when a model runs and what the race checker sees; the models say which bytes are touched and what comes out.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "warpwright/core/address.h"
#include "warpwright/core/descriptor.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/layout.h"

namespace warpwright::simulator::model {

// Tensor maps

// Element as the TMA sees it. The 4-bit types count single values in dims, box and coordinates: b4x16 copies them as
// they are, b4x16_p64 puts eight bytes of padding after every sixteen values in shared memory.
enum class TensorElement : uint8_t { u8, u16, u32, f32, f16, bf16, tf32, b4x16, b4x16_p64 };
struct TensorMapFields {
  TensorElement type;
  int rank;  // 1..5
  void* base;
  uint64_t dims[5];     // elements, innermost first
  uint64_t strides[5];  // bytes; strides[0] is the element size and is ignored
  uint32_t box[5];
  Swizzle swizzle;
  bool nan_fill;
  // Where the byte at an address of the tensor lies, for a tensor whose rows lie apart; `place` is passed on.
  uint8_t* (*host)(const void* place, const void* address) = nullptr;
  const void* place = nullptr;
};
// `padded`: TensorBox::padded.
TensorElement element_of(DType type, bool padded = false);
int element_bits(TensorElement);
int element_bytes(TensorElement);  // 1 for the 4-bit types
// Checks the rules of the driver's encoder; returns a sentence on violation, nothing when `out` was written.
std::optional<std::string> encode_tensor_map(const TensorMapFields&, TensorMap& out);
bool decode_tensor_map(const TensorMap&, TensorMapFields& out);  // false: not a map this encoder wrote
// What complete_tx counts: out-of-bounds elements included, padding that the copy does not write excluded.
uint32_t box_bytes(const TensorMapFields&);
// From the first to the last byte of the box in shared memory. Differs from box_bytes for b4x16_p64 and for swizzled
// boxes narrower than the swizzle, whose rows stay a swizzle width apart.
uint32_t box_footprint(const TensorMapFields&);
// From one row of a box to the next in shared memory. The swizzle permutes whole rows of its width, so a narrower box
// leaves the rest of each row unused.
uint32_t row_pitch(const TensorMapFields&);

// A contiguous piece of a box: `bytes` at the shared address (destination plus offset, swizzle applied to the absolute
// address) and at `global` (null: out of bounds, zero or NaN fill). Pieces are at most 16 bytes and cover the box.
struct BoxPiece {
  uint32_t shared_address;
  uint8_t* global;
  uint32_t bytes;
};
void for_each_piece(const TensorMapFields&, const int32_t* coords, uint32_t shared_address,
                    const std::function<void(const BoxPiece&)>&);
// Copies a box between global memory and `shared` (the CTA's window: shared[address & kSharedOffsetMask]). The shared
// address is a multiple of 16 at least; PTX asks for 128.
void load_box(const TensorMapFields&, const int32_t* coords, uint32_t shared_address, uint8_t* shared);
void store_box(const TensorMapFields&, const int32_t* coords, uint32_t shared_address, const uint8_t* shared);
bool can_reduce_add(TensorElement);  // u32, f32, f16, bf16
void reduce_add_box(const TensorMapFields&, const int32_t* coords, uint32_t shared_address, const uint8_t* shared);

// Matrix units

// Byte addresses of an operand's 16-byte (or smaller) pieces in shared memory, for the race checker.
struct Piece {
  uint32_t address;
  uint32_t bytes;
};
// How 4-bit values lie in shared memory: two a byte (mxf4, mxf4nvf4), or as TMA's b4x16_p64 leaves them, sixteen in the
// first eight of every sixteen bytes (f8f6f4, mxf8f6f4; PTX "Packing formats"). Other types ignore it.
enum class Packing : uint8_t { dense, padded };
// mn and k are the extents. Addresses stay below 2^18, where those of the hardware wrap, and carry no CTA rank.
void operand_pieces(const MatrixDesc&, Arch, DType, Major, int mn, int k, std::vector<Piece>& out,
                    Packing = Packing::dense);

// Reads an operand into row-major floats out[mn*k_extent + k], values exactly as the tensor core sees them.
void gather_operand(const MatrixDesc&, Arch, DType, Major, int mn, int k, const uint8_t* shared, float* out,
                    Packing = Packing::dense);

// acc[m*ld + n] (+)= sum_k a[m*k_extent + k] * b[n*k_extent + k], fp32, k in increasing order. Each step is a rounded
// product and a rounded sum on every machine; a product of two tensor-core operands that stays in range is exact, so a
// fused step would give the same bits.
void multiply(int m, int n, int k, const float* a, const float* b, float* acc, int ld, bool accumulate);
// The same with a pointer for each row.
void multiply_rows(int m, int n, int k, const float* a, const float* b, float* const* rows, bool accumulate);
// Keeps multiply and its variants from using more than this, as far as the machine has it. For tests: the bits of the
// result do not depend on it. Not safe while a multiply is running.
enum class InstructionSet : uint8_t { baseline, avx2, avx512 };
void limit_instruction_set(InstructionSet);

// wgmma: register fragments of the 128 threads. acc_regs[t] points at thread t's N/2 accumulators.
// D of m64nN: see machine/sim/wgmma.h. A of m64k16 (16-bit): register i of lane l, warp w: row 16w + l/4 + 8*(i%2),
// k 2*(l%4) + 8*(i/2) .. +1; m64k32 (8-bit): the same rows, k 4*(l%4) + 16*(i/2) .. +3; m64k8 (tf32): k l%4 + 4*(i/2).
void scatter_accumulators(int n, const float* d, float* const* acc_regs);
void gather_accumulators(int n, float* d, const float* const* acc_regs);
void gather_a_fragment(DType, const uint32_t* const* a_regs, float* out);
// multiply for m = 64 with D in the registers: the same bits as gather_accumulators, multiply, scatter_accumulators.
void multiply_fragments(int n, int k, const float* a, const float* b, float* const* acc_regs, bool accumulate);

// ldmatrix and stmatrix: rows[i] is the 16-byte row whose address lane i passed. regs[lane*count + j].
void ldmatrix(int count, bool transpose, const uint8_t* const* rows, uint32_t* regs);
void stmatrix(int count, bool transpose, uint8_t* const* rows, const uint32_t* regs);

// Tensor memory

inline constexpr int kTmemLanes = 128;
inline constexpr int kTmemColumns = 512;
// cells[lane*512 + column]
struct TmemCell {
  int lane, column;
  bool operator==(const TmemCell&) const = default;
};
// Where register `reg` of `lane` of a warp goes, for a load or store at `address`. The lane field of the address is the
// true first lane: the caller has put it inside the warp's window. Shape: 0 32x32b, 1 16x64b, 2 16x128b, 3 16x256b
// (machine::TmemShape order). The 16-lane shapes touch the sixteen lanes from the address on.
TmemCell tmem_register_cell(int shape, int reg, int lane, uint32_t address);
// Rows and columns of D in TMEM for an MMA of this M and cta_group, in CTA `cta_in_pair` (0 or 1): the accumulator
// element (m, n) of the whole MMA lies in that CTA's TMEM at lane/column offset from the D address, or nothing if it is
// in the peer. PTX "Data path layout organization": cta_group 1: M 64 layout F, M 128 layout D; cta_group 2: M 128
// layout B (dense), M 256 layout A.
std::optional<TmemCell> accumulator_cell(int mma_m, int mma_n, int cta_group, int cta_in_pair, int m, int n);
// multiply with D in tensor memory at `address`, for the rows that this CTA holds (mma_m / cta_group of them, which is
// what `a` has) and all mma_n columns. D must lie inside tensor memory.
void multiply_tmem(int mma_m, int mma_n, int cta_group, int k, const float* a, const float* b, uint32_t* cells,
                   uint32_t address, bool accumulate);
// A in TMEM: out[row*k + j] for the rows of A that this CTA holds (mma_m / cta_group of them). A row has the lane of
// its accumulator in its leftmost columns; elements are packed densely along K from the column of the address.
void gather_tmem_operand(DType, int mma_m, int cta_group, int k, const uint32_t* cells, uint32_t address, float* out);
// tcgen05.cp: copies from shared memory (descriptor) to TMEM cells; shape in the order of machine::TmemCopy. The
// multicast of 64x128b is warpx2::02_13: source row r goes to lanes r and r + 64. touched and written may be null.
void tcgen05_cp(int shape, const MatrixDesc&, const uint8_t* shared, uint32_t tmem_address, uint32_t* cells,
                std::vector<Piece>* touched, std::vector<TmemCell>* written);
// Scale factor of row/column `i` and K block `block` for a block-scaled MMA, read from TMEM as hardware lays it out: a
// cell holds four scales of one row, row i is in lane i%32 and column i/32 after the address (4 columns hold 128 rows x
// 4 scales). The four lane quarters hold replicas; `quarter` says which one, that of the lane of the accumulator.
// `scale_id`, from the instruction descriptor, is the byte of block 0. In layout B (cta_group 2, M 128) columns of B
// count from the start of their half of N, which quarters 0, 1 and 2, 3 hold.
float block_scale(DType scale_type, const uint32_t* cells, uint32_t tmem_address, int i, int block, int scale_id,
                  int quarter = 0);
// The first of the scales of `rows` rows or columns and `blocks` K blocks whose replicas differ. With `halves`,
// quarters 0, 1 hold the scales of one half of N and 2, 3 those of the other, so each has one replica.
std::optional<TmemCell> unequal_scale(const uint32_t* cells, uint32_t tmem_address, int rows, int blocks, int scale_id,
                                      bool halves = false);
// Layout B reads A from lanes 0..63 for the left half of N and from lanes 64..127 for the right one: the first cell of
// `columns` columns that differs.
std::optional<TmemCell> unequal_rows(const uint32_t* cells, uint32_t tmem_address, int columns);

}  // namespace warpwright::simulator::model
