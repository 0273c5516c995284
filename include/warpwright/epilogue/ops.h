// The epilogue: one list of fp32 nodes between the accumulator and the output (epilogue/config.h has the order).
//
//   using Ops = epilogue::EpilogueOps<C.epilogue>;
//   const Ops::Args e = Ops::prepare(args.epilogue, tile.batch);              // once for a tile
//   const float v = Ops{}(accumulator, row, column, e);            // C, residual and bias read from memory
//   const float v = Ops{}(accumulator, e, {c, residual, bias}, row, column);    // or handed over, by a role that loads
//   Ops::convert(v), or Ops::pack(values, words) for a vector of them
//
// Every node is a sequence of operations with one rounding each, so a result has the same bits on the GPU and in the
// simulator for every configuration, NaN payloads of fp32 outputs excepted.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/epilogue/activation.h"
#include "warpwright/epilogue/config.h"
#include "warpwright/epilogue/own.h"
#include "warpwright/machine/machine.h"
#include "warpwright/tile/convert.h"

namespace warpwright::inline WW_WORLD::epilogue {

// What the nodes add to one element from other tensors, as fp32.
struct Source {
  float c = 0;
  float residual = 0;
  float bias = 0;
  float up_bias = 0;
};

template <EpilogueConfig C>
struct EpilogueOps {
  static constexpr EpilogueConfig config = C;
  using Out = storage_t<C.out>;
  static_assert(refuse(C) == nullptr, "epilogue: refuse(config) says why this list cannot be compiled");

  struct OfBatch : EpilogueArgs {
    int batch = 0;
  };
  using Args = stdx::conditional_t<C.own != 0, OfBatch, EpilogueArgs>;
  // The arguments for one matrix of a batch, scalars in device memory read.
  WW_FN static Args prepare(EpilogueArgs args, int batch = 0, machine::here at = {}) {
    if constexpr (C.alpha) {
      if (args.alpha_at != nullptr) args.alpha = machine::load(Global<const float>{args.alpha_at}, at);
    }
    if constexpr (C.quantize) {
      if (args.scale_at != nullptr) args.scale = machine::load(Global<const float>{args.scale_at}, at);
    }
    if constexpr (C.source) args.c = pointer_of(element<C.source_type>(args.c, batch * args.c_batch_stride));
    if constexpr (C.bias != Bias::none) {
      args.bias = pointer_of(element<C.bias_type>(args.bias, batch * args.bias_batch_stride));
      if constexpr (C.pair())
        args.up_bias = pointer_of(element<C.bias_type>(args.up_bias, batch * args.bias_batch_stride));
    }
    if constexpr (C.residual) {
      args.residual = pointer_of(element<C.residual_type>(args.residual, batch * args.residual_batch_stride));
    }
    if constexpr (C.own != 0) {
      return {args, batch};
    } else {
      return args;
    }
  }

  // `row` and `column` lie inside the matrix here and below. For a pair they are those of the output, which has one
  // element for each pair.
  WW_FN static Source load_bias(const EpilogueArgs& args, int row, int column, machine::here at = {}) {
    Source s;
    if constexpr (C.bias != Bias::none) {
      const int along = C.bias == Bias::per_row ? row : column;
      s.bias = read<C.bias_type>(args.bias, along, at);
      if constexpr (C.pair()) s.up_bias = read<C.bias_type>(args.up_bias, along, at);
    }
    return s;
  }
  WW_FN static Source load_source(const EpilogueArgs& args, int row, int column, machine::here at = {}) {
    Source s = load_bias(args, row, column, at);
    if constexpr (C.source) s.c = read<C.source_type>(args.c, row * args.c_row_stride + column, at);
    if constexpr (C.residual) {
      s.residual = read<C.residual_type>(args.residual, row * args.residual_row_stride + column, at);
    }
    return s;
  }

  WW_FN float operator()(float accumulator, int row, int column, const Args& args, machine::here at = {}) const
      requires(!C.pair()) {
    return (*this)(accumulator, args, load_source(args, row, column, at), row, column);
  }
  WW_FN float operator()(float accumulator, const Args& args, const Source& source, int row, int column) const
      requires(!C.pair()) {
    if constexpr (C.own != 0) {
      const float v = Own<C.own>{}(OwnValues{scaled(accumulator, args), source.c, source.bias, source.residual,
                                             args.beta, row, column, args.batch});
      return quantized(v, args);
    } else {
      return (*this)(accumulator, args, source);
    }
  }
  // No node except a function of your own asks where an element lies.
  WW_FN float operator()(float accumulator, const Args& args, const Source& source) const
      requires(!C.pair() && C.own == 0) {
    float v = scaled(accumulator, args);
    if constexpr (C.source) v = tile::multiply_add(args.beta, source.c, v);
    v = biased(v, source.bias);
    return finish(activate<C.activation>(v), args, source);
  }

  WW_FN float operator()(float gate, float up, int row, int column, const EpilogueArgs& args,
                         machine::here at = {}) const requires(C.pair()) {
    return (*this)(gate, up, args, load_source(args, row, column, at));
  }
  WW_FN float operator()(float gate, float up, const EpilogueArgs& args, const Source& source) const
      requires(C.pair()) {
    const float g = biased(scaled(gate, args), source.bias);
    const float u = biased(scaled(up, args), source.up_bias);
    return finish(tile::multiply(silu(g), u), args, source);
  }

  WW_FN static Out convert(float v) { return tile::narrow<C.out>(v); }
  // Converts as many values as fill `words`, the first to the lowest bits.
  template <int Words>
  WW_FN static void pack(const float* values, Vec<uint32_t, Words>& words) {
    constexpr int in_word = 32 / bits(C.out);
    WW_UNROLL
    for (int i = 0; i < Words; ++i) {
      const float* v = values + i * in_word;
      if constexpr (in_word == 1) {
        words[i] = stdx::bit_cast<uint32_t>(v[0]);
      } else if constexpr (in_word == 2) {
        words[i] = tile::pack2<C.out>(v[0], v[1]);
      } else {
        words[i] = tile::pack4<C.out>(v[0], v[1], v[2], v[3]);
      }
    }
  }

 private:
  template <DType T>
  WW_FN static Global<const storage_t<T>> element(const void* tensor, int64_t index) {
    return Global<const storage_t<T>>{static_cast<const storage_t<T>*>(tensor)} + index;
  }
  template <DType T>
  WW_FN static float read(const void* tensor, int64_t index, machine::here at) {
    return tile::widen<T>(machine::load(element<T>(tensor, index), at));
  }
  WW_FN static float scaled(float v, const EpilogueArgs& args) {
    if constexpr (C.alpha) return tile::multiply(args.alpha, v);
    return v;
  }
  WW_FN static float biased(float v, float bias) {
    if constexpr (C.bias != Bias::none) return tile::add(v, bias);
    return v;
  }
  WW_FN static float finish(float v, const EpilogueArgs& args, const Source& source) {
    if constexpr (C.residual) v = tile::add(v, source.residual);
    return quantized(v, args);
  }
  WW_FN static float quantized(float v, const EpilogueArgs& args) {
    if constexpr (C.quantize) v = tile::multiply(args.scale, v);
    return v;
  }
};

}  // namespace warpwright::inline WW_WORLD::epilogue
