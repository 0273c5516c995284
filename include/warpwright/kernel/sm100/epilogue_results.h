// From sums in registers to D: the node list in fp32 with what it adds from other matrices, then the store, by threads
// or into the ring of the store role.
#pragma once
#include "warpwright/kernel/sm100/epilogue_layout.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

// Where the results of a tile of groups go.
struct Target {
  void* d;
  int columns;
  int64_t row_stride;
};
// Groups along k have a D of `rows` rows each, and a C of the same size, stored one after the other.
template <DType Out, class Tile>
WW_FN Target of_group(const Target& all, const Tile& tile, int rows) {
  const int64_t before = int64_t(tile.group) * rows * all.row_stride;
  return {static_cast<storage_t<Out>*>(all.d) + before, all.columns, all.row_stride};
}
template <DType Source, class Tile>
WW_FN void move_to_group(EpilogueArgs& nodes, const Tile& tile, int rows) {
  nodes.c = static_cast<const storage_t<Source>*>(nodes.c) + int64_t(tile.group) * rows * nodes.c_row_stride;
}

// With groups, every matrix has its own bias.
template <DType Type>
WW_FN void move_to_bias(EpilogueArgs& nodes, int matrix) {
  nodes.bias = static_cast<const storage_t<Type>*>(nodes.bias) + int64_t(matrix) * nodes.bias_batch_stride;
}

// One for each thread of the epilogue, for all its tiles: begin(tile), then put(step, sums) for every step in order.
// Called by whole warpgroups, because steps take and give stages of rings. K is the kernel.
template <DenseGemmSm100Config C, class K>
class EpilogueResults {
  using Layout = EpilogueLayout<C>;
  using Share = typename Layout::Share;
  using Args = typename K::Args;
  using Element = storage_t<C.out_type>;
  static constexpr EpilogueConfig kNodes = Layout::kNodes;
  static constexpr int kResults = Layout::kResults;
  static constexpr bool kStores = Layout::kStores, kLoads = Layout::kLoads;

 public:
  using Ops = epilogue::EpilogueOps<kNodes>;

  WW_FN EpilogueResults(const Args& args, uint32_t base, const Share& mine)
      : args_(args), base_(base), mine_(mine), output_(make_output(base, mine)), source_(make_source(base, mine)) {
    columns_ = C.swap_ab ? args.n : C.result_columns(args.n);
    stride_ = args.d_row_stride != 0 ? args.d_row_stride : columns_;
  }
  EpilogueResults(const EpilogueResults&) = delete;
  EpilogueResults& operator=(const EpilogueResults&) = delete;

  // The tile of a group has rows of D up to the end of the group; K::adapt sets the group's factors.
  template <class Tile>
  WW_FN void begin(const Tile& tile, const KernelContext& self) {
    constexpr bool of_group = requires { tile.end_row; };
    row_ = K::first_row(tile, self) + mine_.row;
    column_ = Layout::template first_result_column<K>(tile, self) + mine_.column();
    if constexpr (of_group) {
      end_ = tile.end_row;
      nodes_ = Ops::prepare(args_.epilogue);
      K::adapt(nodes_, args_, tile);
      if constexpr (kNodes.own != 0) nodes_.batch = K::number(tile);
      const auto target = K::target(args_, tile);
      d_ = static_cast<Element*>(target.d);
      columns_ = target.columns;
      stride_ = target.row_stride;
    } else {
      end_ = args_.m;
      d_ = static_cast<Element*>(args_.d);
      nodes_ = Ops::prepare(args_.epilogue, tile.batch);
    }
    if constexpr (C.batched) d_ += tile.batch * args_.d_batch_stride;
    // Rows of tensor memory are rows of the first operand.
    inside_ = mine_.used && row_ < (C.swap_ab ? columns_ : end_);
    aligned_ = (reinterpret_cast<uintptr_t>(d_) | uintptr_t(stride_) * sizeof(Element)) % kVectorBytes == 0;
    if constexpr (kLoads && kNodes.bias == Bias::per_row) {
      if (inside_) row_bias_ = Ops::load_bias(nodes_, row_, 0);
    }
  }

  // sum(i) is accumulator i of this step.
  template <class Sum>
  WW_FN void put(int step, const Sum& sum) {
    if constexpr (kLoads) {
      source_.consume([&](auto stage) {
        give(step, sum, Layout::template source_stage_at<K>(base_, mine_.group, stage->index()));
        return stdx::move(stage).release();
      });
    } else {
      give(step, sum, {});
    }
  }

 private:
  static constexpr int at_most(int a, int b) { return a < b ? a : b; }
  static constexpr int at_least(int a, int b) { return a > b ? a : b; }
  // Results in one store, and in one round: as many as fit into 16 bytes in the narrowest type.
  static constexpr int kVector = at_most(kResults, 128 / bits(C.out_type));
  static constexpr uint32_t kVectorBytes = uint32_t(kVector * bits(C.out_type) / 8);
  static constexpr int kRound =
      at_least(kVector, at_least(kLoads&& kNodes.source ? 128 / bits(kNodes.source_type) : 1,
                                 kLoads&& kNodes.residual ? 128 / bits(kNodes.residual_type) : 1));
  using Words = Vec<uint32_t, int(kVectorBytes / 4)>;
  using Source = epilogue::Source;

  struct Nothing {};
  template <bool Is, class T>
  using If = stdx::conditional_t<Is, T, Nothing>;
  using Output =
      If<kStores, pipeline::Producer<at_least(C.store_stages, 1), pipeline::PublishByThread<pipeline::To::async>>>;
  using Sources =
      If<kLoads,
         pipeline::Consumer<at_least(C.epilogue_load_stages, 1), pipeline::ReleaseByWarp<pipeline::Readers::threads>>>;
  WW_FN static Output make_output([[maybe_unused]] uint32_t base, [[maybe_unused]] const Share& mine) {
    if constexpr (kStores) {
      return Output(Layout::template output_ring<K>(base, mine.group));
    } else {
      return {};
    }
  }
  WW_FN static Sources make_source([[maybe_unused]] uint32_t base, [[maybe_unused]] const Share& mine) {
    if constexpr (kLoads) {
      return Sources(Layout::template source_ring<K>(base, mine.group));
    } else {
      return {};
    }
  }

  template <class Sum>
  WW_FN void give(int step, const Sum& sum, Shared<uint8_t> source) {
    if constexpr (kStores) {
      output_.produce([&](auto stage) {
        // The TMA clips: rows and columns past the edges of D are not written.
        if (mine_.used) finish(step, sum, source, Layout::template output_stage<K>(base_, mine_.group, stage->index()));
        return stdx::move(stage).release();
      });
    } else if constexpr (C.swap_ab) {
      if (inside_) finish_swapped(step, sum);
    } else {
      if (inside_) finish(step, sum, source, {});
    }
  }

  template <class Sum>
  WW_FN void finish(int step, const Sum& sum, Shared<uint8_t> source, Shared<uint8_t> output) {
    WW_UNROLL
    for (int first = 0; first < kResults; first += kRound) {
      const int column = column_ + step * kResults + first;
      if (kStores || column < columns_) {
        Source added[kRound];
        collect(added, source, column, first);
        float value[kRound];
        WW_UNROLL
        for (int e = 0; e < kRound; ++e) {
          if constexpr (kNodes.pair()) {
            value[e] = Ops{}(sum(2 * (first + e)), sum(2 * (first + e) + 1), nodes_, added[e]);
          } else {
            value[e] = Ops{}(sum(first + e), nodes_, added[e], row_, column + e);
          }
        }
        WW_UNROLL
        for (int v = 0; v < kRound; v += kVector) {
          if constexpr (kStores) {
            constexpr TensorBox box = C.d_box();
            constexpr SmemTile tile{box.type, box.outer, box.inner, box.swizzle};
            Words words;
            Ops::pack(value + v, words);
            machine::store(output.plus_bytes(uint32_t(mine_.half) * box.bytes() + tile.offset(mine_.row, first + v))
                               .template as<Words>(),
                           words);
          } else {
            store(value + v, column + v);
          }
        }
      }
    }
  }

  WW_FN void store(const float* value, int column) {
    Element* const to = d_ + int64_t(row_) * stride_ + column;
    if (aligned_ && column + kVector <= columns_) {  // unreached [any_columns]: no row is aligned
      Words words;
      Ops::pack(value, words);
      machine::store(Global<Element>{to}.template as<Words>(), words);
    } else {  // unreached [sm100/blockwise, sm100/grouped]: columns of D come in whole vectors
      WW_UNROLL
      for (int e = 0; e < kVector; ++e) {
        if (column + e < columns_) machine::store(Global<Element>{to + e}, Ops::convert(value[e]));
      }
    }
  }

  // A thread has a column of D, the lanes of a warp neighbouring ones.
  template <class Sum>
  WW_FN void finish_swapped(int step, const Sum& sum) {
    WW_UNROLL
    for (int i = 0; i < kResults; ++i) {
      const int row = column_ + step * kResults + i;
      if (row < end_) {
        machine::store(Global<Element>{d_ + int64_t(row) * stride_ + row_},
                       Ops::convert(Ops{}(sum(i), row, row_, nodes_)));
      }
    }
  }

  // What is added to the results of one round.
  WW_FN void collect(Source (&added)[kRound], Shared<uint8_t> source, int column, int first) {
    if constexpr (kLoads) {
      constexpr SourceStage layout = source_stage(C);
      const uint32_t half = uint32_t(mine_.half);
      if constexpr (kNodes.source) {
        constexpr TensorBox box = C.c_box();
        constexpr SmemTile tile{box.type, box.outer, box.inner, box.swizzle};
        read<box.type>(
            source.plus_bytes(layout.c + half * box.bytes()), [&](int e) { return tile.offset(mine_.row, first + e); },
            [&](int e, float v) { added[e].c = v; });
      }
      if constexpr (kNodes.residual) {
        constexpr TensorBox box = C.residual_box();
        constexpr SmemTile tile{box.type, box.outer, box.inner, box.swizzle};
        read<box.type>(
            source.plus_bytes(layout.residual + half * box.bytes()),
            [&](int e) { return tile.offset(mine_.row, first + e); }, [&](int e, float v) { added[e].residual = v; });
      }
      if constexpr (C.loads_bias()) {
        const auto along = [&](int e) { return uint32_t(first + e) * uint32_t(bits(kNodes.bias_type)) / 8; };
        read<kNodes.bias_type>(source.plus_bytes(layout.bias + half * layout.bias_stride), along,
                               [&](int e, float v) { added[e].bias = v; });
        if constexpr (kNodes.pair()) {
          read<kNodes.bias_type>(source.plus_bytes(layout.up_bias + half * layout.bias_stride), along,
                                 [&](int e, float v) { added[e].up_bias = v; });
        }
      } else if constexpr (kNodes.bias == Bias::per_row) {
        WW_UNROLL
        for (int e = 0; e < kRound; ++e) added[e].bias = row_bias_.bias, added[e].up_bias = row_bias_.up_bias;
      }
    } else if constexpr (kNodes.source || kNodes.residual || kNodes.bias != Bias::none) {
      WW_UNROLL
      for (int e = 0; e < kRound; ++e) {
        if (inside_ && column + e < columns_) added[e] = Ops::load_source(nodes_, row_, column + e);
      }
    }
  }

  // The elements of one round from shared memory: offset(e) is where element e lies, use(e, value) takes it.
  template <DType T, class Offset, class Use>
  WW_FN static void read(Shared<uint8_t> from, const Offset& offset, const Use& use) {
    constexpr int vector = at_most(kRound, 128 / bits(T)), in_word = 32 / bits(T);
    using Some = Vec<uint32_t, vector / in_word>;
    WW_UNROLL
    for (int v = 0; v < kRound; v += vector) {
      const Some words = machine::load(from.plus_bytes(offset(v)).template as<Some>());
      WW_UNROLL
      for (int i = 0; i < vector / in_word; ++i) {
        if constexpr (in_word == 1) {
          use(v + i, stdx::bit_cast<float>(words[i]));
        } else {
          const tile::FloatPair pair = tile::unpack2<T>(words[i]);
          use(v + 2 * i, pair.low);
          use(v + 2 * i + 1, pair.high);
        }
      }
    }
  }

  const Args& args_;
  uint32_t base_;
  Share mine_;
  Output output_;
  Sources source_;
  int columns_;               // of D
  int64_t stride_;            // of its rows, in elements
  int row_ = 0, column_ = 0;  // of this thread's first result
  int end_ = 0;               // of the rows of D that the tile may have
  bool inside_ = false, aligned_ = false;
  Element* d_ = nullptr;
  typename Ops::Args nodes_;
  Source row_bias_;
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
