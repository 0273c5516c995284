#include "launch/dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "launch/other_dense.h"
#include "launch/tensor_map.h"

namespace warpwright::launch {
namespace {

// Any address with the alignment of a real one: the driver checks nothing else.
void* placeholder() { return reinterpret_cast<void*>(uintptr_t(1) << 20); }

GemmPointers placeholders() {
  void* const at = placeholder();
  const auto* const numbers = static_cast<const float*>(at);
  GemmPointers p;
  p.a = p.b = p.c = p.d = at;
  p.bias = p.residual = p.a_block_scales = p.b_block_scales = at;
  p.a_scales = p.b_scales = p.d_scale = numbers;
  return p;
}

bool is_hopper(const catalog::Instance& instance) { return catalog::arch_of(instance) == Arch::sm90; }

uint64_t element_bytes(DType type) { return uint64_t(bits(type)) / 8; }

// The stride of a dimension of one element is never used, but must still be legal.
uint64_t legal_stride(int64_t stride, int64_t extent, DType type, uint64_t least) {
  const uint64_t bytes = extent > 1 ? uint64_t(stride) * element_bytes(type) : least;
  return (bytes + kTmaAlignment - 1) / kTmaAlignment * kTmaAlignment;
}

Status encode(const MapEncoder& maps, TensorMap& map, const TensorBox& box, const StoredMatrix& m, bool batched,
              bool paired = false) {
  TensorMapSpec spec;
  spec.element = box.type;
  spec.rank = batched ? 3 : 2;
  spec.base = placeholder();
  const uint64_t row = legal_stride(m.stride, m.rows, m.type, uint64_t(m.columns) * element_bytes(m.type));
  spec.dims = {uint64_t(m.columns), uint64_t(m.rows), uint64_t(m.count)};
  spec.strides = {0, row, legal_stride(m.batch_stride, m.count, m.type, uint64_t(m.rows) * row)};
  spec.box = {uint32_t(box.inner), uint32_t(box.outer), 1};
  spec.swizzle = box.swizzle;
  spec.l2_promotion = promotion_of(row);
  return maps.encode(paired ? in_pairs(spec, kPairedRows / 2) : spec, map);
}

MatrixArgs matrix(const StoredMatrix& m) { return {nullptr, m.stride, m.count == 1 ? 0 : m.batch_stride}; }

Status fill(DenseGemmArgs& args, const DenseGemmConfig& c, const GemmProblem& p, const Lowered& low,
            const MapEncoder& maps) {
  args.m = int32_t(p.m);
  args.n = int32_t(p.n);
  args.k = int32_t(p.k);
  args.batches = int32_t(p.batch);
  args.a_batch_step = low.a.count > 1 ? 1 : 0;
  args.b_batch_step = low.b.count > 1 ? 1 : 0;
  args.epilogue = epilogue_of(p, low);
  const bool rows = p.scaling == Scaling::row_column;
  args.a_scales_batch_stride = rows ? p.m : 0;
  args.b_scales_batch_stride = rows ? p.n : 0;
  args.a_matrix = matrix(low.a);
  args.b_matrix = matrix(low.b);
  args.d_matrix = matrix(low.d);
  if (c.load == Mover::tma && p.k > 0) {
    if (Status s = encode(maps, args.a, c.a_box(), low.a, c.batched); !s) return s;
    if (Status s = encode(maps, args.b, c.b_box(), low.b, c.batched, c.epilogue.pair()); !s) return s;
  }
  if (c.store == Mover::tma) {
    if (Status s = encode(maps, args.d, c.d_box(), low.d, c.batched); !s) return s;
  }
  return {};
}

Status fill(SkinnyGemmArgs& args, const SkinnyGemmConfig& c, const GemmProblem& p, const Lowered& low,
            const MapEncoder& maps) {
  args.m = int32_t(p.m);
  args.n = int32_t(p.n);
  args.k = int32_t(p.k);
  args.epilogue = epilogue_of(p, low);
  args.weights_are_constant = p.b_is_constant;
  if (p.k > 0) {
    if (Status s = encode(maps, args.x, c.x_box(), low.a, false); !s) return s;
    if (Status s = encode(maps, args.w, c.w_box(), low.b, false, c.epilogue.pair()); !s) return s;
  }
  return encode(maps, args.d, c.d_box(), low.d, false);
}

Status refused(const char* argument, const void* pointer, const std::string& rule) {
  return Status(Code::invalid_argument, fmt::format("{} = {}: {}", argument, fmt::ptr(pointer), rule));
}

Status check_pointer(const char* argument, const void* pointer, uint64_t alignment) {
  if (pointer == nullptr) {
    return Status(Code::invalid_argument, fmt::format("{} = null: the problem needs it.", argument));
  }
  if (reinterpret_cast<uintptr_t>(pointer) % alignment == 0) return {};
  return refused(argument, pointer,
                 alignment == kTmaAlignment
                     ? "it must be a multiple of 16 bytes; a problem with a smaller `alignment` takes it."
                     : fmt::format("it must be a multiple of {} bytes.", alignment));
}

bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + uint64_t(b_bytes) && y < x + uint64_t(a_bytes);
}

}  // namespace

EpilogueArgs epilogue_of(const GemmProblem& p, const Lowered& low) {
  EpilogueArgs e;
  e.alpha = p.alpha;
  e.beta = p.beta;
  const auto step = [](const StoredMatrix& m) { return m.count == 1 ? 0 : m.batch_stride; };
  e.c_row_stride = low.c.stride;
  e.c_batch_stride = step(low.c);
  e.bias_batch_stride = p.epilogue.bias_batch_stride;
  e.residual_row_stride = low.residual.stride;
  e.residual_batch_stride = step(low.residual);
  return e;
}

void set_addresses(EpilogueArgs& e, const GemmProblem& problem, const GemmPointers& p) {
  e.c = p.c;
  e.bias = p.bias;
  // The bias of the ups follows that of the gates; a bias of rows serves both.
  e.up_bias = p.bias;
  if (p.bias != nullptr && problem.epilogue.bias == Bias::per_column) {
    e.up_bias =
        static_cast<const uint8_t*>(p.bias) + uint64_t(problem.n / 2) * element_bytes(problem.epilogue.bias_type);
  }
  e.residual = p.residual;
  e.scale_at = p.d_scale;
}

Status prepare_arguments(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem,
                         const Lowered& low, const MapEncoder& maps) {
  if (!is_hopper(instance)) return fill_arguments(args, instance, problem, low, placeholders(), maps);
  if (const auto* c = instance.as<DenseGemmConfig>()) {
    auto& dense = args.emplace<DenseGemmArgs>();
    if (Status s = fill(dense, *c, problem, low, maps); !s) return s;
    dense.splits = std::max(1, instance.splits);
    return {};
  }
  return fill(args.emplace<SkinnyGemmArgs>(), *instance.as<SkinnyGemmConfig>(), problem, low, maps);
}

Status set_addresses(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem, const Lowered& low,
                     const GemmPointers& p, const MapEncoder& maps) {
  if (!is_hopper(instance)) return fill_arguments(args, instance, problem, low, p, maps);
  if (auto* dense = std::get_if<DenseGemmArgs>(&args)) {
    const DenseGemmConfig& c = *instance.as<DenseGemmConfig>();
    set_addresses(dense->epilogue, problem, p);
    dense->a_scales = p.a_scales;
    dense->b_scales = p.b_scales;
    dense->a_matrix.data = const_cast<void*>(p.a);
    dense->b_matrix.data = const_cast<void*>(p.b);
    dense->d_matrix.data = p.d;
    if (c.load == Mover::tma && problem.k > 0) {
      if (Status s = maps.set_address(dense->a, p.a); !s) return s;
      if (Status s = maps.set_address(dense->b, p.b); !s) return s;
    }
    return c.store == Mover::tma ? maps.set_address(dense->d, p.d) : Status();
  }
  auto& skinny = std::get<SkinnyGemmArgs>(args);
  set_addresses(skinny.epilogue, problem, p);
  skinny.x_scales = p.a_scales;
  skinny.w_scales = p.b_scales;
  if (problem.k > 0) {
    if (Status s = maps.set_address(skinny.x, p.a); !s) return s;
    if (Status s = maps.set_address(skinny.w, p.b); !s) return s;
  }
  return maps.set_address(skinny.d, p.d);
}

Status fill_arguments(Arguments& args, const catalog::Instance& instance, const GemmProblem& problem,
                      const Lowered& low, const GemmPointers& pointers, const MapEncoder& maps) {
  if (const auto* c = instance.as<DenseGemmSm100Config>()) {
    auto& to = args.emplace<DenseGemmSm100Args>();
    to.splits = std::max(1, instance.splits);
    return fill(to, *c, problem, low, pointers, maps);
  }
  if (const auto* c = instance.as<MmaSyncGemmConfig>()) {
    auto& to = args.emplace<MmaSyncGemmArgs>();
    to.splits = std::max(1, instance.splits);
    return fill(to, *c, problem, low, pointers);
  }
  if (const auto* c = instance.as<CdnaMatmulConfig>()) {
    auto& to = args.emplace<CdnaMatmulArgs>();
    to.splits = uint32_t(std::max(1, instance.splits));
    fill(to, *c, problem, low, pointers);
    return {};
  }
  if (Status s = prepare_arguments(args, instance, problem, low, maps); !s) return s;
  return set_addresses(args, instance, problem, low, pointers, maps);
}

Status check_pointers(const GemmProblem& problem, const Lowered& low, const catalog::Instance& instance,
                      const GemmPointers& p, const Packing& packing) {
  const auto* const dense = instance.as<DenseGemmConfig>();
  const auto* const blackwell = instance.as<DenseGemmSm100Config>();
  const auto* const by_copies = instance.as<MmaSyncGemmConfig>();
  const auto* const cdna = instance.as<CdnaMatmulConfig>();
  const auto needed = [](bool tma, DType type) {
    return tma ? kTmaAlignment : std::max<uint64_t>(element_bytes(type), 1);
  };
  const bool tma_loads = dense != nullptr       ? dense->load == Mover::tma
                         : by_copies != nullptr ? by_copies->copy == RowCopy::bytes16
                         : cdna != nullptr      ? !cdna->by_elements
                                                : true;
  const bool tma_stores = dense != nullptr       ? dense->store == Mover::tma
                          : blackwell != nullptr ? blackwell->store_stages > 0
                                                 : instance.as<SkinnyGemmConfig>() != nullptr;
  struct Read {
    const char* argument;
    const void* pointer;
    int64_t bytes;
  };
  Read reads[6] = {};
  int count = 0;
  const auto reading = [&](const char* argument, const void* pointer, uint64_t alignment, int64_t bytes) {
    reads[count++] = {argument, pointer, bytes};
    return check_pointer(argument, pointer, alignment);
  };
  if (Status s = check_pointer("d", p.d, needed(tma_stores, low.d.type)); !s) return s;
  if (problem.k > 0) {
    if (Status s = reading("a", p.a, needed(tma_loads && !packing.a, low.a.type), low.a.bytes()); !s) return s;
    if (Status s = reading("b", p.b, needed(tma_loads && !packing.b, low.b.type), low.b.bytes()); !s) return s;
  }
  const Epilogue& e = problem.epilogue;
  if (e.bias != Bias::none) {
    const int64_t length = e.bias == Bias::per_row ? problem.m : problem.n;
    const int64_t elements = (problem.batch - 1) * e.bias_batch_stride + length;
    const uint64_t size = element_bytes(e.bias_type);
    if (Status s = reading("bias", p.bias, size, elements * int64_t(size)); !s) return s;
  }
  if (e.residual) {
    if (Status s = reading("residual", p.residual, element_bytes(low.residual.type), low.residual.bytes()); !s)
      return s;
  }
  if (problem.scaling != Scaling::none) {
    const bool rows = problem.scaling == Scaling::row_column;
    const int64_t a = rows ? problem.m * problem.batch : 1, b = rows ? problem.n * problem.batch : 1;
    if (Status s = reading("a_scales", p.a_scales, 4, a * 4); !s) return s;
    if (Status s = reading("b_scales", p.b_scales, 4, b * 4); !s) return s;
  }
  if (problem.block_scaling != BlockScaling::none && problem.k > 0) {
    if (Status s = check_pointer("a_block_scales", p.a_block_scales, kTmaAlignment); !s) return s;
    if (Status s = check_pointer("b_block_scales", p.b_block_scales, kTmaAlignment); !s) return s;
  }
  if (e.quantize) {
    if (Status s = check_pointer("d_scale", p.d_scale, 4); !s) return s;
    if (overlap(p.d, low.d.bytes(), p.d_scale, 4)) return refused("d_scale", p.d_scale, "it lies in the result.");
  }
  for (int i = 0; i < count; ++i) {
    if (overlap(p.d, low.d.bytes(), reads[i].pointer, reads[i].bytes)) {
      return refused(reads[i].argument, reads[i].pointer, "it overlaps the result, which is written while it is read.");
    }
  }
  if (low.reads_c) {
    if (Status s = check_pointer("c", p.c, element_bytes(low.c.type)); !s) return s;
    const bool in_place = p.c == p.d && low.c.type == low.d.type && low.c.stride == low.d.stride &&
                          (low.d.count == 1 || low.c.batch_stride == low.d.batch_stride);
    if (!in_place && overlap(p.d, low.d.bytes(), p.c, low.c.bytes())) {
      return refused("c", p.c, "it overlaps the result; it must lie apart, or be d with the type and strides of d.");
    }
  }
  return {};
}

}  // namespace warpwright::launch
