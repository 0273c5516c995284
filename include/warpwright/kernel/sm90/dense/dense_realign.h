// The load role of the Hopper GEMM where rows of A and B begin at any byte, which the TMA does not take. cp.async
// brings the aligned vectors that hold them, as they are in memory, some stages ahead. When they have arrived, the
// lanes that asked for them move them to where the MMA wants them. Shared memory holds the copies under way, not
// registers, so no lane waits for memory once the first have arrived.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/kernel/sm90/dense/dense_plan.h"
#include "warpwright/kernel/sm90/unaligned.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::kernel::sm90 {

template <DenseGemmConfig C>
class RealignedLoad {
  using Args = DenseGemmArgs;
  using Tiles = DenseTiles<C>;
  using Walk = decltype(Tiles::jobs(stdx::declval<const Args&>()));
  using Element = stdx::conditional_t<bits(C.type) == 16, uint16_t, uint8_t>;
  using Input = pipeline::Producer<C.stages, pipeline::PublishByThread<pipeline::To::async>>;

  static constexpr BlockPlan plan = dense_gemm_plan(C);
  static constexpr int kLine = DenseGemmConfig::kLineBytes, kVector = int(sizeof(Chunk)), kVectors = kLine / kVector;
  static constexpr int kSlots = C.raw_slots(), kAhead = kSlots - 1;
  static constexpr int kAtOnce = plan.role("load").warps * 32 / kVectors;  // lines
  static_assert(kAtOnce % atom_rows(Swizzle::b128) == 0, "a lane's lines lie alike in the swizzle");

  // A tile's part of A or B, as one lane sees it. A line is 128 bytes of a row, and a stage has one line of each row of
  // the tile; a lane has one vector of every kAtOnce-th line.
  template <int Lines, bool Paired>
  struct Operand {
    static constexpr int kLines = Lines;
    // Rows from one of the lane's lines to the next: where lines are pairs of 8 gates and 8 ups, every other one.
    static constexpr int kStep = Paired ? kAtOnce / 2 : kAtOnce;

    const uint8_t* matrix;
    const uint8_t* begin;  // the row of the lane's first line
    int64_t step;          // bytes from the row of one of its lines to that of the next
    int rows_left;         // rows of the matrix from the first one on; gates may be followed by ups that nobody wants
    bool at_the_top;       // of the matrix
    Shared<uint8_t> raw;

    WW_FN static Operand of(const MatrixArgs& from, int batch, int first, int rows, int line, Shared<uint8_t> raw) {
      const auto* const matrix =
          reinterpret_cast<const uint8_t*>(static_cast<const Element*>(from.data) + batch * from.batch_stride);
      const int64_t row_bytes = from.row_stride * int64_t(sizeof(Element));
      const int row = Paired ? paired_row(first + line, rows) : first + line;
      return {matrix, matrix + row * row_bytes, kStep * row_bytes, rows - row, first < 2 * kVector, raw};
    }
    // Bytes from a row's first aligned vector to the row. Lines are whole vectors, so all of them have the same.
    WW_FN int excess(int i) const {
      return int((uint32_t(reinterpret_cast<uint64_t>(begin)) + uint32_t(i) * uint32_t(step)) % kVector);
    }
    WW_FN bool inside(int i) const { return i * kStep < rows_left; }
  };
  using OperandA = Operand<C.tile_m, false>;
  using OperandB = Operand<C.tile_n, C.epilogue.pair()>;
  static constexpr uint32_t kRawA = uint32_t(C.tile_m * kLine), kRaw = C.raw_slot_bytes();

  WW_FN static Shared<uint8_t> slot(uint32_t base, int i) {
    return {base + plan.region("input.raw").offset + kRaw * uint32_t(i)};
  }
  WW_FN OperandA operand_a(const tile::Job& job, int raw) const {
    return OperandA::of(args_.a_matrix, job.batch, Tiles::first_row(job), args_.m, first_line_, slot(base_, raw));
  }
  WW_FN OperandB operand_b(const tile::Job& job, int raw) const {
    return OperandB::of(args_.b_matrix, job.batch, Tiles::first_column(job), args_.n, first_line_,
                        slot(base_, raw).plus_bytes(kRawA));
  }

 public:
  // All warps of the role, each for itself.
  WW_FN RealignedLoad(const Args& args, uint32_t base)
      : args_(args),
        base_(base),
        first_line_((int(machine::warp_index()) - plan.role("load").first_warp) * (32 / kVectors) +
                    int(machine::lane_index()) / kVectors),
        vector_(int(machine::lane_index()) % kVectors),
        ahead_(Tiles::jobs(args)) {
    next_job();
  }

  WW_FN void run(pipeline::Ring<C.stages> ring) {
    Input input(ring);
    WW_ROLLED
    for (int i = 0; i < kAhead; ++i) ask(i);
    int raw = 0;
    auto walk = Tiles::jobs(args_);
    for (tile::Job job; args_.k > 0 && walk.next(job);) {
      // A stage's last bytes are in the vectors after it, so a job asks for one stage more than it fills.
      for (int i = 0; i <= job.k.count; ++i) {
        ask(raw == 0 ? kAhead : raw - 1);
        const int next = raw + 1 == kSlots ? 0 : raw + 1;
        if (i < job.k.count) {
          machine::cp_async_wait<kAhead - 1>();
          machine::sync_warp();
          input.produce([&](auto stage) {
            const uint32_t a = base_ + plan.region("input.a").offset + C.a_bytes() * uint32_t(stage->index());
            const uint32_t b = base_ + plan.region("input.b").offset + C.b_bytes() * uint32_t(stage->index());
            move(operand_a(job, raw), slot(base_, next), {a});
            move(operand_b(job, raw), slot(base_, next).plus_bytes(kRawA), {b});
            return stdx::move(stage).release();
          });
        }
        // The lanes are done with this slot, and the next copies go there.
        machine::sync_warp();
        raw = next;
      }
    }
  }

 private:
  WW_FN void next_job() {
    any_ = args_.k > 0 && ahead_.next(job_);
    k_ = job_.k.first;
  }

  // The copies of the next stage, as a group of their own, which is empty when there are no more.
  WW_FN void ask(int raw) {
    if (any_) {
      const bool after = k_ == job_.k.end();
      ask_for(operand_a(job_, raw), after);
      ask_for(operand_b(job_, raw), after);
      ++k_;
      if (after) next_job();
    }
    machine::cp_async_commit();
  }

  // This lane's vectors of a stage. `after`: of the stage after a job's last, only the first vectors are needed.
  template <class Source>
  WW_FN void ask_for(const Source& from, bool after) const {
    if (after && vector_ != 0) return;
    const int64_t at = int64_t(k_) * kLine;
    const int64_t rest = int64_t(args_.k) * int64_t(sizeof(Element)) - at;  // of each row
    const int left = (rest < 2 * kLine ? int(rest) : 2 * kLine) - vector_ * kVector;
    const uint8_t* const first = from.begin + at + vector_ * kVector;
    const Shared<uint8_t> to = from.raw.plus_bytes(uint32_t(first_line_ * kLine + vector_ * kVector));
    // There may be nothing to read before the matrix.
    if (k_ == 0 && from.at_the_top) {
      WW_ROLLED
      for (int i = 0; i * kAtOnce + first_line_ < Source::kLines; ++i) {
        const int excess = from.excess(i), valid = from.inside(i) ? left + excess : 0;
        const uint8_t* const vector = first + i * from.step - excess;
        if (valid > 0 && vector < from.matrix) {
          machine::store(to.plus_bytes(uint32_t(i * kAtOnce * kLine)).template as<Chunk>(),
                         elements(vector, excess, valid));
        } else {
          copy(to, i, vector, valid);
        }
      }
      return;
    }
    WW_UNROLL
    for (int i = 0; i * kAtOnce < Source::kLines; ++i) {
      if (Source::kLines % kAtOnce != 0 && i * kAtOnce + first_line_ >= Source::kLines) break;
      const int excess = from.excess(i), valid = from.inside(i) ? left + excess : 0;
      copy(to, i, first + i * from.step - excess, valid);
    }
  }
  // The vector of the lane's line `i`. The first `valid` bytes are wanted, which may be none; the others become zero.
  WW_FN static void copy(Shared<uint8_t> to, int i, const uint8_t* vector, int valid) {
    machine::cp_async<kVector>(to.plus_bytes(uint32_t(i * kAtOnce * kLine)), Global<const uint8_t>{vector},
                               uint32_t(valid < 0         ? 0
                                        : valid < kVector ? valid
                                                          : kVector));
  }
  // Those elements of a vector that belong to the row.
  WW_FN static Chunk elements(const uint8_t* vector, int excess, int valid) {
    Chunk chunk = {};
    WW_UNROLL
    for (int byte = 0; byte < kVector; byte += int(sizeof(Element))) {
      if (byte >= excess && byte < valid) {
        const Global<const Element> element{reinterpret_cast<const Element*>(vector + byte)};
        chunk[byte / 4] |= uint32_t(machine::load(element)) << (8 * (byte % 4));
      }
    }
    return chunk;
  }

  // Moves this lane's vectors of a stage to their places; `next_raw` has the vectors that follow those of `from`.
  template <class Source>
  WW_FN void move(const Source& from, Shared<uint8_t> next_raw, Shared<uint8_t> to) const {
    constexpr int most = 4;  // in flight
    const uint32_t line = uint32_t(first_line_ * kLine), vector = uint32_t(vector_ * kVector);
    const Shared<uint8_t> low_of = from.raw.plus_bytes(line + vector);
    const Shared<uint8_t> high_of =
        vector_ + 1 < kVectors ? low_of.plus_bytes(uint32_t(kVector)) : next_raw.plus_bytes(line);
    const Shared<uint8_t> place = to.plus_bytes(swizzle(Swizzle::b128, line + vector));
    const auto present = [&](int i) {
      return Source::kLines % kAtOnce == 0 || i * kAtOnce + first_line_ < Source::kLines;
    };
    WW_UNROLL
    for (int some = 0; some * kAtOnce < Source::kLines; some += most) {
      Chunk low[most], high[most];
      WW_UNROLL
      for (int i = 0; i < most && (some + i) * kAtOnce < Source::kLines; ++i) {
        if (!present(some + i)) break;
        const uint32_t at = uint32_t((some + i) * kAtOnce * kLine);
        low[i] = machine::load(low_of.plus_bytes(at).template as<Chunk>());
        high[i] = machine::load(high_of.plus_bytes(at).template as<Chunk>());
      }
      WW_UNROLL
      for (int i = 0; i < most && (some + i) * kAtOnce < Source::kLines; ++i) {
        if (!present(some + i)) break;
        machine::store(place.plus_bytes(uint32_t((some + i) * kAtOnce * kLine)).template as<Chunk>(),
                       joined(low[i], high[i], from.excess(some + i)));
      }
    }
  }

  const Args& args_;
  const uint32_t base_;
  const int first_line_;
  const int vector_;
  // What is asked for next: stage k_ of a job.
  Walk ahead_;
  tile::Job job_{};
  int k_ = 0;
  bool any_ = false;
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm90
