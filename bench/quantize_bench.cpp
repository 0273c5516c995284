// Bytes that quantization on the GPU reads and writes in a second, by kind and by type of the source, beside a copy of
// as many. Skips without a Hopper GPU.
#include <benchmark/benchmark.h>

#include <string>

#include "gpu/devices.h"
#include "gpu/memory.h"
#include "measure/bench_competitors.h"
#include "warpwright/quantize.h"

namespace {

using namespace warpwright;

struct Form {
  const char* name;
  Quantization kind;
  DType type;
  bool given_tensor_scale = false;
};
constexpr Form kForms[] = {{"token", Quantization::token, DType::e4m3},
                           {"block", Quantization::block, DType::e4m3},
                           {"mxfp8", Quantization::mx, DType::e4m3},
                           {"mxfp4", Quantization::mx, DType::e2m1},
                           {"nvfp4, scale given", Quantization::nvfp4, DType::e2m1, true},
                           {"nvfp4, scale found", Quantization::nvfp4, DType::e2m1}};

template <class Run>
void time_bytes(benchmark::State& state, double bytes, const gpu::Stream& stream, Run run) {
  constexpr int launches = 10;
  const gpu::Event begin, end;
  for (auto _ : state) {
    begin.record(stream);
    for (int i = 0; i < launches; ++i) {
      if (const std::string why = run(); !why.empty()) return state.SkipWithError(why.c_str());
    }
    end.record(stream);
    end.synchronize();
    state.SetIterationTime(end.us_since(begin) * 1e-6 / launches);
  }
  state.SetBytesProcessed(int64_t(bytes) * state.iterations());
}

void quantization(benchmark::State& state) {
  const Form& form = kForms[state.range(0)];
  const DType source = DType(state.range(1));
  QuantizeProblem p{
      .rows = state.range(2), .columns = state.range(3), .source = source, .kind = form.kind, .type = form.type};
  if (bits(scale_dtype(form.kind)) == 8) p.layout = ScaleLayout::tiles;
  p.given_tensor_scale = form.given_tensor_scale;
  state.SetLabel(std::string(form.name) + " from " + name(source));
  if (gpu::list_gpus().empty()) return state.SkipWithError("no GPU here");
  const size_t in = size_t(p.rows * p.columns * bits(source) / 8);
  const gpu::DeviceMemory from(in), values(size_t(value_bytes(p))), scales(size_t(scale_bytes(p))), tensor(256);
  measure::fill_normal(source, 1, from, in);
  measure::fill_normal(DType::fp32, 2, tensor, 256);
  const gpu::Stream stream;
  const QuantizePointers pointers{from.data(), values.data(), scales.data(), reinterpret_cast<float*>(tensor.data())};
  time_bytes(state, double(in) + double(value_bytes(p) + scale_bytes(p)), stream, [&] {
    const Status s = quantize(p, pointers, stream.get());
    return s ? std::string() : s.message();
  });
}

void copy(benchmark::State& state) {
  if (gpu::list_gpus().empty()) return state.SkipWithError("no GPU here");
  const size_t bytes = size_t(state.range(0));
  const gpu::DeviceMemory from(bytes), to(bytes);
  const gpu::Stream stream;
  time_bytes(state, 2.0 * double(bytes), stream, [&] {
    gpu::copy_on_device(to.data(), from.data(), bytes, stream.get());
    return std::string();
  });
}

BENCHMARK(copy)->Arg(int64_t(16384) * 7168 * 3 / 2)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(quantization)
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {int64_t(DType::bf16), int64_t(DType::fp32)}, {4096, 16384}, {7168}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
