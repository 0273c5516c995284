// What happens to an accumulator on its way out, and what a launch passes for it. World-free: the host fills the
// arguments, a kernel's arguments embed them.
#pragma once
#include "warpwright/core/address.h"
#include "warpwright/core/dtype.h"
#include "warpwright/core/word_enum.h"

namespace warpwright {

// What a bias is added to, and which function is applied to the sums; core/words.h explains the words.
WW_WORDS(Bias, kBiases, WW_BIASES)
WW_WORDS(Activation, kActivations, WW_ACTIVATIONS)
// Whether the function takes two sums and gives one result.
WW_HD constexpr bool is_pair(Activation a) { return a == Activation::swiglu; }

// The nodes, all in fp32, in this order:
//   v = alpha * accumulator      one rounding
//   v = beta * C + v             one rounding
//   v = v + bias                 one rounding
//   v = activation(v)            swiglu: of two accumulators that went through the nodes above
//   v = v + residual             one rounding
//   v = scale * v                one rounding
//   out = convert(v)             nearest even; 8-bit types saturate
// A user-defined function (epilogue/own.h) takes the place of the nodes from beta * C to the residual: it is given
// alpha * accumulator and what `source`, `bias` and `residual` load.
struct EpilogueConfig {
  DType out = DType::bf16;  // fp32, bf16, fp16, e4m3 or e5m2
  bool alpha = false;
  bool source = false;  // beta * C
  DType source_type = DType::bf16;
  Bias bias = Bias::none;
  DType bias_type = DType::fp32;
  Activation activation = Activation::none;
  bool residual = false;
  DType residual_type = DType::bf16;
  bool quantize = false;  // multiply by `scale`
  uint64_t own = 0;       // own_id() of that function; 0: there is none

  WW_HD constexpr bool pair() const { return is_pair(activation); }
  // Nothing but a conversion is done.
  WW_HD constexpr bool trivial() const {
    return !alpha && !source && bias == Bias::none && activation == Activation::none && !residual && !quantize &&
           own == 0;
  }
  bool operator==(const EpilogueConfig&) const = default;
};

// Strides count elements. A batch stride of 0 shares the tensor among the matrices of a batch.
struct EpilogueArgs {
  float alpha = 1;
  float beta = 0;
  float scale = 1;
  const float* alpha_at = nullptr;  // in device memory; replaces `alpha`
  const float* scale_at = nullptr;  // in device memory; replaces `scale`
  const void* c = nullptr;          // [batch][row][column]
  int64_t c_row_stride = 0;
  int64_t c_batch_stride = 0;
  const void* bias = nullptr;     // [batch][row or column]
  const void* up_bias = nullptr;  // the bias of the second accumulator of a pair
  int64_t bias_batch_stride = 0;
  const void* residual = nullptr;  // [batch][row][column]
  int64_t residual_row_stride = 0;
  int64_t residual_batch_stride = 0;
};

// The number of a name or of a text: FNV-1a with 64 bits, never 0.
WW_HD constexpr uint64_t own_id(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != 0; ++text) hash = (hash ^ uint64_t(static_cast<unsigned char>(*text))) * 0x100000001b3u;
  return hash == 0 ? 1 : hash;
}

// The sentence says what is wrong; nullptr when the configuration can be compiled.
WW_HD constexpr const char* refuse(const EpilogueConfig& c) {
  const auto wide = [](DType t) { return t == DType::fp32 || t == DType::bf16 || t == DType::fp16; };
  if (!wide(c.out) && c.out != DType::e4m3 && c.out != DType::e5m2) {
    return "epilogue: the output type is fp32, bf16, fp16, e4m3 or e5m2";
  }
  if (c.source && !wide(c.source_type)) return "epilogue: C is fp32, bf16 or fp16";
  if (c.bias != Bias::none && !wide(c.bias_type)) return "epilogue: the bias is fp32, bf16 or fp16";
  if (c.residual && !wide(c.residual_type)) return "epilogue: the residual is fp32, bf16 or fp16";
  if (c.pair() && c.source) return "epilogue: beta * C has no meaning for the pair of accumulators of swiglu";
  if (c.own != 0 && c.activation != Activation::none) {
    return "epilogue: a function of your own takes the place of the activation";
  }
  return nullptr;
}

}  // namespace warpwright
