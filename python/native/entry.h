// A call that was made before: what it is known by, and what launches it again.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "forms.h"
#include "ref.h"

namespace warpwright::native {

constexpr int kMostDimensions = 8;

struct Key {
  std::array<int64_t, kMostOperands*(2 + 2 * kMostDimensions) + 3> words;  // the first `count` are written
  size_t count = 0;
  uint64_t hash = 0x9e3779b97f4a7c15u;

  void add(int64_t word) {
    words[count++] = word;
    hash = (hash ^ uint64_t(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
};

// Memory of a plan that its runs on one stream share.
struct Workspace {
  void* stream;
  Ref tensor;
  void* data;
};

// What autograd has to know of a call whose operands want a gradient.
struct Learning {
  Ref apply;                // of a function of autograd whose forward is that of native.cpp
  std::vector<int> inputs;  // places of the arguments that it is given
  std::vector<int> saved;   // and of those that the backward pass reads
  bool zeroed = false;      // the result, of which the kernel may leave rows unwritten
};

struct Entry {
  std::vector<int64_t> key;
  std::vector<Ref> settings;
  Ref owner, shape, strides, dtype, workspace_shape, workspace_strides;
  const void* plan = nullptr;
  size_t workspace_bytes = 0;
  size_t kept_bytes = 0;  // of them
  std::vector<Workspace> workspaces;
  std::optional<Learning> learning;  // none: where a gradient is wanted, the call goes another way
};

}  // namespace warpwright::native
