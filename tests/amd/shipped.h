// The matmul kernels that are shipped, with their schedules.
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "amd/build.h"
#include "amd/matmul.h"

namespace warpwright::amd {

struct Shipped {
  std::string name, chip;
};
inline void PrintTo(const Shipped& s, std::ostream* out) { *out << s.name << " on " << s.chip; }
// The kernels that share a tile's depth and have a counter for it.
inline std::vector<Shipped> split_kernels() {
  std::vector<Shipped> list;
  for (const char* type : {"bf16", "fp16", "e4m3"}) {
    list.push_back({fmt::format("matmul_4wave_splitk_{}_general", type), "gfx950"});
    list.push_back({fmt::format("matmul_default_splitk_{}_general_by_elements", type), "gfx950"});
  }
  for (const char* type : {"bf16", "fp16"}) {
    list.push_back({fmt::format("matmul_default_splitk_{}_general", type), "gfx942"});
    list.push_back({fmt::format("matmul_default_splitk_{}_general_by_elements", type), "gfx942"});
  }
  return list;
}
inline std::vector<Shipped> shipped_kernels() {
  std::vector<Shipped> list = split_kernels();
  for (const char* type : {"bf16", "fp16", "e4m3"})
    list.push_back({fmt::format("matmul_pingpong_{}_general", type), "gfx950"});
  const Shipped plain[] = {{"matmul_pingpong_bf16", "gfx950"},
                           {"matmul_pingpong_e4m3", "gfx950"},
                           {"matmul_pingpong_bf16_to_fp32", "gfx950"},
                           {"matmul_blocks_bf16", "gfx950"},
                           {"matmul_blocks_e4m3", "gfx950"},
                           {"matmul_4wave_bf16", "gfx950"},
                           {"matmul_4wave_e4m3", "gfx950"},
                           {"matmul_default_bf16", "gfx950"},
                           {"matmul_default_e4m3", "gfx950"},
                           {"matmul_default_bf16", "gfx942"},
                           {"matmul_default_bf16_to_fp32", "gfx942"},
                           {"matmul_default_e4m3", "gfx942"}};
  list.insert(list.end(), std::begin(plain), std::end(plain));
  return list;
}

struct ShippedKernel {
  const CodeObject* object = nullptr;
  CodeObjectKernel kernel;  // a copy, to be changed
  CdnaMatmulConfig config;
  ExpectedOrder order;

  explicit ShippedKernel(const Shipped& s) : object(&BuildFolder::instance().matmul(s.name, s.chip)) {
    if (const CodeObjectKernel* k = object->find(s.name)) kernel = *k;
    if (const auto c = matmul_config(object->chip, s.name)) config = *c;
    order = matmul_order(config);
  }
  bool loaded() const { return !kernel.code.empty(); }

  // Instructions of the hot loop for which the test is true.
  template <class Test>
  std::vector<size_t> in_loop(Test test) const {
    std::vector<size_t> found;
    const Loop loop = hot_loop(kernel);
    for (int i = loop.first; i <= loop.last; ++i)
      if (test(kernel.code[size_t(i)])) found.push_back(size_t(i));
    return found;
  }
};

inline void make_nop(Instruction& in) {
  in.opcode = "s_nop";
  in.modifiers.clear();
  in.operands.clear();
  in.text = "s_nop 0";
}

}  // namespace warpwright::amd
