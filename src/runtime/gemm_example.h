// What the examples that multiply matrices have in common. A subject S names the kernel and what is particular to it:
//
//   using Kernel, Args;
//   static constexpr int ctas;                                  in the simulator, unless told otherwise
//   static std::optional<std::string> refuse(Case);
//   static GemmSpec spec(Case);
//   static fill(Args&, const Workload&, const std::vector<void*>&, encode) -> std::optional<std::string>
//   static std::optional<std::string> launch(const Args&, void* stream);     with CUDA
#pragma once
#include "runtime/problem.h"
#include "runtime/simulate.h"

namespace warpwright::runtime {

template <class S>
struct GemmExample {
  static Workload workload(Case s, Data data, uint64_t seed) { return gemm_workload(S::spec(s), data, seed); }
  static Outcome simulate(const Workload& w, const simulator::Options& o, int ctas) {
    return runtime::simulate<typename S::Kernel>(
        w, o, ctas ? ctas : S::ctas,
        [&](auto& args, const auto& p, const auto& encode) { return S::fill(args, w, p, encode); });
  }
#if WW_HAVE_CUDA
  static std::optional<std::string> launch(const Workload& w, const std::vector<void*>& p, void* stream) {
    typename S::Args args;
    if (auto why = S::fill(args, w, p, EncodeForGpu{})) return why;
    return S::launch(args, stream);
  }
#else
  static constexpr std::nullptr_t launch = nullptr;
#endif

  // Traits are for the kernels that `gemm` may choose.
  static Example make(const char* name, const char* summary, const char* instance, std::vector<Case> cases,
                      GemmTraits traits = {}) {
    return {name,     summary, instance, S::Kernel::plan.arch, &S::Kernel::plan, std::move(cases), S::refuse, workload,
            simulate, launch,  traits};
  }
};

// The plain product of two matrices of one type, rows without gaps.
inline GemmSpec plain_spec(Case s, DType type) {
  GemmSpec spec;
  spec.shape = s;
  spec.a_type = spec.b_type = type;
  spec.a = dense_layout(s.m, s.k);
  spec.b = dense_layout(s.n, s.k);
  spec.d = dense_layout(s.m, s.n);
  spec.epilogue = factor_and_conversion(type);
  return spec;
}
inline std::optional<std::string> refuse_plain(Case s, DType type) {
  Problem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.dtype = p.out_dtype = type;
  return validate(p);
}
// What the kernels of plain products have in common, whatever their configuration.
template <auto C, class KernelArgs>
struct PlainProduct {
  using Args = KernelArgs;
  static std::optional<std::string> refuse(Case s) { return refuse_plain(s, C.type); }
  static GemmSpec spec(Case s) { return plain_spec(s, C.type); }
  template <class Encode>
  static std::optional<std::string> fill(Args& args, const Workload& w, const std::vector<void*>& p,
                                         const Encode& encode) {
    return runtime::fill(args, C, p[0], p[1], p[2], int(w.shape.m), int(w.shape.n), int(w.shape.k), float(w.alpha),
                         encode);
  }
};

}  // namespace warpwright::runtime
