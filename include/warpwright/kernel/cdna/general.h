// What a general matmul has beside the loop: which part of which product a workgroup computes, operands that are loaded
// element by element, the sum of the parts of a tile, and the nodes between a sum and D. All of it is decided by
// the arguments of the launch, in branches that a wave takes as a whole.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/kernel/cdna/config.h"
#include "warpwright/machine/cdna.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::kernel::cdna {

namespace m = machine::cdna;

// Added to any offset below 2^31, it is past the end of every buffer.
inline constexpr uint32_t kOutside = 0x8000'0000;

// The first row of MFMA tile i of a wave, after the rows of the waves before it.
WW_FN constexpr int row_of_tile(int i, int quadrant, int step) {
  return i / quadrant * step + i % quadrant * CdnaMatmulConfig::kMma;
}

// What a general kernel has beside the arguments of the others, in scalar registers as far as the loop needs it.
template <CdnaMatmulConfig C>
WW_FN CdnaMatmulArgs settled(const CdnaMatmulArgs& given) {
  CdnaMatmulArgs args = {{m::settled(pointer_of(given.a))},
                         {m::settled(pointer_of(given.b))},
                         {m::settled(pointer_of(given.d))},
                         m::settled(given.m),
                         m::settled(given.n),
                         m::settled(given.k),
                         m::settled(given.a_row_bytes),
                         m::settled(given.b_row_bytes),
                         m::settled(given.d_row_bytes),
                         m::settled(given.alpha)};
  if constexpr (C.general) {
    args.a_batch_bytes = m::settled(given.a_batch_bytes);
    args.b_batch_bytes = m::settled(given.b_batch_bytes);
  }
  if constexpr (C.by_elements) {
    args.a_k_bytes = m::settled(given.a_k_bytes);
    args.b_k_bytes = m::settled(given.b_k_bytes);
  }
  if constexpr (C.split == DepthSplit::split_k) args.splits = m::settled(given.splits);
  return args;
}

// What a workgroup computes: a tile of a product of the batch, over k elements that begin this many bytes after the
// first ones of A and of B.
struct Job {
  uint32_t tile = 0, batch = 0, part = 0, index = 0;  // index: of the tile in all products
  uint32_t k = 0;
  int64_t a_bytes = 0, b_bytes = 0;
};
template <CdnaMatmulConfig C>
WW_FN Job job_of(uint32_t workgroup, uint32_t tiles, const CdnaMatmulArgs& args) {
  Job job;
  job.tile = workgroup;
  job.k = args.k;
  if constexpr (C.general) {
    job.index = workgroup;
    uint32_t first = 0;
    if constexpr (C.split == DepthSplit::split_k) {
      job.index = workgroup / args.splits;
      job.part = workgroup % args.splits;
      // Whole tiles along k for every part; the last one ends with k, and may have none.
      const uint32_t steps = (args.k + C.tile_k() - 1) / C.tile_k();
      const uint32_t each = (steps + args.splits - 1) / args.splits * C.tile_k();
      first = job.part * each;
      const uint32_t left = first < args.k ? args.k - first : 0;
      job.k = left < each ? left : each;
    }
    job.batch = job.index / tiles;
    job.tile = job.index % tiles;
    const uint32_t a_step = C.by_elements ? args.a_k_bytes : C.element_bytes();
    const uint32_t b_step = C.by_elements ? args.b_k_bytes : C.element_bytes();
    job.a_bytes = job.batch * args.a_batch_bytes + int64_t(first) * a_step;
    job.b_bytes = job.batch * args.b_batch_bytes + int64_t(first) * b_step;
  }
  return job;
}

// The rows of an operand in a tile of D, whose elements are loaded one by one.
struct ElementRows {
  Global<const uint8_t> matrix = {};
  uint32_t first_row = 0, rows = 0, tile_rows = 0;  // rows: of the matrix
  uint32_t row_bytes = 0, k_bytes = 0;

  WW_FN uint32_t count() const { return rows - first_row < tile_rows ? rows - first_row : tile_rows; }
  // Whatever is loaded for rows that the matrix does not have goes into rows of D that nobody stores. `depth` elements
  // of each row from `first` on; a tile past the last element has none.
  WW_FN m::BufferResource buffer(uint32_t first, uint32_t depth, uint32_t element) const {
    const uint32_t bytes = (count() - 1) * row_bytes + (depth - 1) * k_bytes + element;
    return m::make_buffer(matrix + (int64_t(first_row) * row_bytes + int64_t(first) * k_bytes),
                          m::uniform(depth == 0 ? 0 : bytes));
  }
};

// The parts of a tile leave their sums in the workspace, and the last one to arrive adds them in the order of k, so
// that the bits of a sum do not depend on which it is. Each wave has its own sums of the tile in all parts, and its own
// counter, so no wave waits for another. Returns whether this wave has all of them now. `tiles`: of one product.
template <CdnaMatmulConfig C, int Rows, int Columns>
WW_FN bool add_parts(m::Accumulator (&sums)[Rows][Columns], uint32_t wave, const Job& job, uint32_t tiles,
                     const CdnaMatmulArgs& args) {
  if constexpr (C.split == DepthSplit::split_k) {
    if (args.splits == 1) return true;
    constexpr uint32_t row = Columns * C.kWave * 16;
    const Global<uint8_t> workspace = {static_cast<uint8_t*>(args.workspace)};
    const int64_t slots = C.counter_bytes(tiles * args.batches);
    const m::Lanes at = m::lane_index() * 16u;
    const auto slot = [&](uint32_t part) {
      const int64_t number = (int64_t(job.index) * args.splits + part) * C.waves() + wave;
      return m::make_buffer(workspace + (slots + number * C.slot_bytes()), C.slot_bytes());
    };
    const m::BufferResource own = slot(job.part);
    WW_UNROLL
    for (int i = 0; i < Rows; ++i) {
      WW_UNROLL
      for (int j = 0; j < Columns; ++j) {
        const m::Accumulator& sum = sums[i][j];
        m::buffer_store(own, at + uint32_t(i * row + j * C.kWave * 16), m::element(sum, 0), m::element(sum, 1),
                        m::element(sum, 2), m::element(sum, 3));
      }
    }
    m::release_device();
    const auto counters = workspace.template as<uint32_t>();
    const uint32_t before = m::count_arrival(counters + (job.index * C.waves() + wave), args.splits - 1);
    if (before + 1 != args.splits) return false;
    m::acquire_device();
    WW_UNROLL
    for (int i = 0; i < Rows; ++i) {
      WW_UNROLL
      for (int j = 0; j < Columns; ++j) m::clear(sums[i][j]);
    }
    WW_ROLLED
    for (uint32_t part = 0; part < args.splits; ++part) {
      const m::BufferResource from = slot(part);
      WW_UNROLL
      for (int i = 0; i < Rows; ++i) {
        m::Fragment parts[Columns];
        WW_UNROLL
        for (int j = 0; j < Columns; ++j) m::buffer_load(parts[j], from, at + uint32_t(i * row + j * C.kWave * 16));
        m::wait_vm<0>();
        WW_UNROLL
        for (int j = 0; j < Columns; ++j) m::add(sums[i][j], parts[j]);
      }
    }
  }
  return true;
}

// The nodes between the sums of a wave and D, in the order of epilogue/config.h and with its functions. A lane has four
// neighbouring columns of each MFMA tile.
template <CdnaMatmulConfig C>
struct NodeStore {
  static constexpr int kA = C.wave_tiles_m(), kB = C.wave_tiles_n();

  // What a lane has of a row, as the bits of fp32 numbers.
  struct Row {
    m::Lanes v[kB][4];
  };
  // The tile of D inside the matrix, and the lane's column in the first MFMA tile of a row.
  struct Frame {
    uint32_t first_row, first_column, rows, columns;
    m::Lanes column;
    WW_FN m::Lanes column_of(int j, int e) const {
      return column + uint32_t(row_of_tile(j, C.quadrant_n(), C.quadrant_step_n()) + e);
    }
    WW_FN m::Lanes at(const m::Lanes& line, int j, int e, uint32_t size) const {
      const m::Lanes c = column_of(j, e);
      return m::select(c < columns, line + c * size, kOutside);
    }
    // The tile of a matrix with rows of this kind.
    template <class T>
    WW_FN m::BufferResource buffer(Global<T> matrix, int64_t row_bytes, uint32_t size) const {
      return m::make_buffer(matrix + (first_row * row_bytes + int64_t(first_column) * size),
                            (rows - 1) * uint32_t(row_bytes) + columns * size);
    }
    WW_FN m::Lanes line(const m::Lanes& r, uint32_t row_bytes) const {
      return m::select(r < rows, r * row_bytes, kOutside);
    }
  };

  // A table in a constant: from comparisons the compiler makes one in memory, which scalar registers cannot load from.
  WW_FN static uint32_t size_of(DType type) {
    constexpr uint32_t sizes = [] {
      uint32_t all = 0;
      for (const DType t : {DType::fp32, DType::bf16, DType::fp16, DType::e4m3, DType::e5m2})
        all |= uint32_t(bits(t)) / 8 << (4 * int(t));
      return all;
    }();
    return sizes >> (4 * uint32_t(type)) & 15;
  }
  WW_FN static Global<const uint8_t> element(const void* tensor, DType type, int64_t index) {
    return Global<const uint8_t>{static_cast<const uint8_t*>(tensor)} + index * size_of(type);
  }

  template <class F>
  WW_FN static void each(Row& row, F&& function) {
    WW_UNROLL
    for (int j = 0; j < kB; ++j) {
      WW_UNROLL
      for (int e = 0; e < 4; ++e) {
        row.v[j][e] = m::map([&](uint32_t x) { return stdx::bit_cast<uint32_t>(function(stdx::bit_cast<float>(x))); },
                             row.v[j][e]);
      }
    }
  }
  template <class F>
  WW_FN static void join(Row& row, const Row& other, F&& function) {
    WW_UNROLL
    for (int j = 0; j < kB; ++j) {
      WW_UNROLL
      for (int e = 0; e < 4; ++e) {
        row.v[j][e] = m::map(
            [&](uint32_t x, uint32_t y) {
              return stdx::bit_cast<uint32_t>(function(stdx::bit_cast<float>(x), stdx::bit_cast<float>(y)));
            },
            row.v[j][e], other.v[j][e]);
      }
    }
  }

  // The elements of one row of a tensor; a tensor without columns has one element for all of them.
  template <DType T, bool HasColumns>
  WW_FN static Row fetch(const m::BufferResource& from, const m::Lanes& line, const Frame& f) {
    constexpr uint32_t size = uint32_t(bits(T)) / 8;
    m::Gathered<int(size)> raw[kB];
    WW_UNROLL
    for (int j = 0; j < (HasColumns ? kB : 1); ++j) {
      WW_UNROLL
      for (int e = 0; e < (HasColumns ? 4 : 1); ++e)
        m::buffer_load_element(raw[j], e, from, HasColumns ? f.at(line, j, e, size) : line);
    }
    m::wait_vm<0>();
    Row row;
    WW_UNROLL
    for (int j = 0; j < kB; ++j) {
      WW_UNROLL
      for (int e = 0; e < 4; ++e) {
        row.v[j][e] = m::map(
            [](uint32_t x) {
              if constexpr (T == DType::fp32) {
                return x;
              } else {
                return stdx::bit_cast<uint32_t>(tile::unpack2<T>(x).low);
              }
            },
            m::element(raw[HasColumns ? j : 0], HasColumns ? e : 0));
      }
    }
    return row;
  }
  template <bool HasColumns = true>
  WW_FN static Row load(DType type, const m::BufferResource& from, const m::Lanes& line, const Frame& f) {
    if (type == DType::fp32) return fetch<DType::fp32, HasColumns>(from, line, f);
    if (type == DType::bf16) return fetch<DType::bf16, HasColumns>(from, line, f);
    return fetch<DType::fp16, HasColumns>(from, line, f);
  }
  WW_FN static Row load_matrix(const void* tensor, DType type, int64_t row_stride, const m::Lanes& r, const Frame& f) {
    const uint32_t size = size_of(type);
    const int64_t row_bytes = row_stride * size;
    return load(type, f.buffer(element(tensor, type, 0), row_bytes, size), f.line(r, uint32_t(row_bytes)), f);
  }
  WW_FN static Row load_bias(const EpilogueConfig& nodes, const EpilogueArgs& args, const m::Lanes& r, const Frame& f) {
    const uint32_t size = size_of(nodes.bias_type);
    const bool by_rows = nodes.bias == Bias::per_row;
    const m::BufferResource from =
        m::make_buffer(element(args.bias, nodes.bias_type, by_rows ? f.first_row : f.first_column),
                       (by_rows ? f.rows : f.columns) * size);
    if (by_rows) return load<false>(nodes.bias_type, from, f.line(r, size), f);
    return load(nodes.bias_type, from, 0u, f);
  }

  // The elements of a row in the tensor's type, packed into words.
  template <DType T>
  struct Packed {
    static constexpr uint32_t size = uint32_t(bits(T)) / 8;
    m::Lanes v[kB][size];
    WW_FN static Packed of(const Row& row) {
      const auto number = [](uint32_t x) { return stdx::bit_cast<float>(x); };
      Packed p;
      WW_UNROLL
      for (int j = 0; j < kB; ++j) {
        const m::Lanes(&x)[4] = row.v[j];
        WW_UNROLL
        for (uint32_t i = 0; i < size; ++i) {
          if constexpr (size == 4) {
            p.v[j][i] = x[i];
          } else if constexpr (size == 2) {
            p.v[j][i] = m::map([&](uint32_t a, uint32_t b) { return tile::pack2<T>(number(a), number(b)); }, x[2 * i],
                               x[2 * i + 1]);
          } else {
            p.v[j][i] = m::map([&](uint32_t a, uint32_t b, uint32_t c,
                                   uint32_t d) { return tile::pack4<T>(number(a), number(b), number(c), number(d)); },
                               x[0], x[1], x[2], x[3]);
          }
        }
      }
      return p;
    }
  };
  // Whole: rows are made of groups of four elements, and all of them begin at multiples of four bytes.
  template <DType T>
  WW_FN static void store(const Row& row, const m::BufferResource& to, const m::Lanes& line, const Frame& f,
                          bool whole) {
    using Words = Packed<T>;
    const Words p = Words::of(row);
    if (whole) {
      WW_UNROLL
      for (int j = 0; j < kB; ++j) {
        const m::Lanes offset = f.at(line, j, 0, Words::size);
        if constexpr (Words::size == 4) {
          m::buffer_store(to, offset, p.v[j][0], p.v[j][1], p.v[j][2], p.v[j][3]);
        } else if constexpr (Words::size == 2) {
          m::buffer_store(to, offset, p.v[j][0], p.v[j][1]);
        } else {
          m::buffer_store(to, offset, p.v[j][0]);
        }
      }
      return;
    }
    WW_UNROLL
    for (int j = 0; j < kB; ++j) {
      WW_UNROLL
      for (int e = 0; e < 4; ++e) {
        const m::Lanes offset = f.at(line, j, e, Words::size);
        if constexpr (Words::size == 4) {
          m::buffer_store(to, offset, p.v[j][e]);
        } else if constexpr (Words::size == 2) {
          m::buffer_store_short(to, offset, p.v[j][e / 2] >> uint32_t(e % 2 * 16));
        } else {
          m::buffer_store_byte(to, offset, p.v[j][0] >> uint32_t(e * 8));
        }
      }
    }
  }

  WW_FN static void apply(Row& row, float alpha, const EpilogueConfig& nodes, const EpilogueArgs& args,
                          const m::Lanes& r, const Frame& f) {
    each(row, [&](float v) { return tile::multiply(alpha, v); });
    if (nodes.source) {
      join(row, load_matrix(args.c, nodes.source_type, args.c_row_stride, r, f),
           [&](float v, float c) { return tile::multiply_add(args.beta, c, v); });
    }
    if (nodes.bias != Bias::none) {
      join(row, load_bias(nodes, args, r, f), [](float v, float bias) { return tile::add(v, bias); });
    }
    if (nodes.activation == Activation::relu) {
      each(row, [](float v) { return epilogue::activate<Activation::relu>(v); });
    } else if (nodes.activation == Activation::gelu_tanh) {
      each(row, [](float v) { return epilogue::activate<Activation::gelu_tanh>(v); });
    } else if (nodes.activation == Activation::gelu_erf) {
      each(row, [](float v) { return epilogue::activate<Activation::gelu_erf>(v); });
    } else if (nodes.activation == Activation::silu) {
      each(row, [](float v) { return epilogue::activate<Activation::silu>(v); });
    }
    if (nodes.residual) {
      join(row, load_matrix(args.residual, nodes.residual_type, args.residual_row_stride, r, f),
           [](float v, float residual) { return tile::add(v, residual); });
    }
    if (nodes.quantize) {
      const m::BufferResource from = m::make_buffer(element(args.scale_at, DType::fp32, 0), 4);
      join(row, load<false>(DType::fp32, from, 0u, f), [](float v, float scale) { return tile::multiply(scale, v); });
    }
  }

  // The tensors of the product `batch` of the batch.
  WW_FN static EpilogueArgs of_batch(EpilogueArgs args, const EpilogueConfig& nodes, uint32_t batch) {
    args.c = pointer_of(element(args.c, nodes.source_type, batch * args.c_batch_stride));
    args.bias = pointer_of(element(args.bias, nodes.bias_type, batch * args.bias_batch_stride));
    args.residual = pointer_of(element(args.residual, nodes.residual_type, batch * args.residual_batch_stride));
    return args;
  }

  WW_FN static void run(m::Accumulator (&sums)[kA][kB], uint32_t wave, uint32_t first_row, uint32_t first_column,
                        uint32_t batch, const CdnaMatmulArgs& args) {
    const EpilogueConfig& nodes = args.nodes;
    const EpilogueArgs tensors = of_batch(args.epilogue, nodes, batch);
    const m::Lanes lane = m::lane_index();
    const uint32_t rows = args.m - first_row, columns = args.n - first_column;
    const m::Lanes first = (lane & 15u) + wave / C.waves_n() * C.wave_step_m();
    Frame f = {.first_row = first_row,
               .first_column = first_column,
               .rows = rows < C.tile_m() ? rows : C.tile_m(),
               .columns = columns < C.tile_n() ? columns : C.tile_n(),
               .column = ((lane >> 4u) << 2u) + wave % C.waves_n() * C.wave_step_n()};
    const Global<uint8_t> d = args.d + batch * args.d_batch_bytes;
    const m::BufferResource to = f.buffer(d, args.d_row_bytes, size_of(nodes.out));
    const auto low = uint32_t(reinterpret_cast<uint64_t>(pointer_of(d)));
    const bool whole = args.n % 4 == 0 && (low | args.d_row_bytes) % 4 == 0;
    // One row of MFMA tiles after the other, so that the nodes are in the code only once. Registers can only be indexed
    // by constants, so the rows move up.
    WW_ROLLED
    for (int i = 0; i < kA; ++i) {
      // What belongs to columns is computed again for each row; kept, it would take all registers.
      f.column = m::opaque(f.column);
      Row row;
      WW_UNROLL
      for (int j = 0; j < kB; ++j) {
        WW_UNROLL
        for (int e = 0; e < 4; ++e) row.v[j][e] = m::element(sums[0][j], e);
      }
      const m::Lanes r = first + uint32_t(row_of_tile(i, C.quadrant_m(), C.quadrant_step_m()));
      apply(row, args.alpha, nodes, tensors, r, f);
      const m::Lanes line = f.line(r, args.d_row_bytes);
      if (nodes.out == DType::fp32) {
        store<DType::fp32>(row, to, line, f, whole);
      } else if (nodes.out == DType::bf16) {
        store<DType::bf16>(row, to, line, f, whole);
      } else if (nodes.out == DType::fp16) {
        store<DType::fp16>(row, to, line, f, whole);
      } else if (nodes.out == DType::e4m3) {
        store<DType::e4m3>(row, to, line, f, whole);
      } else {
        store<DType::e5m2>(row, to, line, f, whole);
      }
      WW_UNROLL
      for (int up = 0; up + 1 < kA; ++up) {
        WW_UNROLL
        for (int j = 0; j < kB; ++j) sums[up][j] = sums[up + 1][j];
      }
    }
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::cdna
