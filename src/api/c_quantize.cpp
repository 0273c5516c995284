#include <fmt/format.h>

#include <cstring>

#include "api/c_error.h"
#include "warpwright/c_api.h"
#include "warpwright/quantize.h"

using namespace warpwright;

namespace {

using api::word;

// A caller compiled against another version has another size. It may be smaller; the rest then has its defaults.
Status convert(const ww_quantize_problem* given, QuantizeProblem& p, bool& on_host) {
  if (given == nullptr) return Status(Code::invalid_argument, "problem = null: it must be given.");
  if (given->size < sizeof given->size || given->size > sizeof *given) {
    return Status(
        Code::invalid_argument,
        fmt::format("problem->size = {}: it must be set by ww_quantize_problem_init, and the library must not be older "
                    "than its header.",
                    given->size));
  }
  ww_quantize_problem from;
  ww_quantize_problem_init(&from);
  std::memcpy(&from, given, given->size);
  p.rows = from.rows;
  p.columns = from.columns;
  p.stride = from.stride;
  if (Status s = word("source", from.source, kDTypes, p.source); !s) return s;
  if (Status s = word("kind", from.kind, kQuantizations, p.kind); !s) return s;
  if (Status s = word("type", from.type, kDTypes, p.type); !s) return s;
  if (Status s = word("layout", from.layout, kScaleLayouts, p.layout); !s) return s;
  p.given_tensor_scale = from.given_tensor_scale != 0;
  on_host = from.on_host != 0;
  return {};
}

template <class Bytes>
size_t bytes_of(const ww_quantize_problem* problem, Bytes bytes) {
  size_t result = 0;
  (void)api::guarded([&] {
    QuantizeProblem p;
    bool on_host = false;
    if (Status s = convert(problem, p, on_host); !s) return s;
    if (Status s = validate(p); !s) return s;
    result = size_t(bytes(p));
    return Status();
  });
  return result;
}

}  // namespace

extern "C" {

void ww_quantize_problem_init(ww_quantize_problem* problem) {
  if (problem == nullptr) return;
  *problem = {};
  problem->size = sizeof *problem;
  problem->source = WW_BF16;
  problem->type = WW_E4M3;
}

int32_t ww_quantize_validate(const ww_quantize_problem* problem) {
  return api::guarded([&] {
    QuantizeProblem p;
    bool on_host = false;
    if (Status s = convert(problem, p, on_host); !s) return s;
    return validate(p);
  });
}

size_t ww_quantize_value_bytes(const ww_quantize_problem* problem) { return bytes_of(problem, value_bytes); }
size_t ww_quantize_scale_bytes(const ww_quantize_problem* problem) { return bytes_of(problem, scale_bytes); }

int32_t ww_quantize(const ww_quantize_problem* problem, const void* source, void* values, void* scales,
                    float* tensor_scale, void* stream) {
  return api::guarded([&] {
    QuantizeProblem p;
    bool on_host = false;
    if (Status s = convert(problem, p, on_host); !s) return s;
    const QuantizePointers pointers{source, values, scales, tensor_scale};
    return on_host ? quantize_on_host(p, pointers) : quantize(p, pointers, stream);
  });
}

}  // extern "C"
