// One violation of each rule. prove_lines.py checks that tools/prove.py names the marked line, and no other.
#include <utility>

#include "case_base.h"

KERNEL void correct(int* out, int c) {
  Pipe pipe;
  for (int i = 0; i < c; ++i) {
    auto stage = pipe.acquire();
    if (out[i] < 0) {
      std::move(stage).release();
      continue;
    }
    *out += stage->data();
    std::move(stage).release();
  }
}

// In one line, because compilers differ on where a scope ends: at its last statement or at its brace.
KERNEL void leak(int* out, int) {
  Pipe pipe;
  // clang-format off
  { auto stage = pipe.acquire(); *out += stage->data(); }  // violation: not_released
  // clang-format on
}

KERNEL void twice(int*, int) {
  Pipe pipe;
  auto stage = pipe.acquire();
  std::move(stage).release();
  std::move(stage).release();  // violation: released_twice
}

KERNEL void late(int* out, int c) {
  Pipe pipe;
  auto stage = pipe.acquire();
  if (c) {
    std::move(stage).release();
    *out += stage->data();  // violation: used_after_release
    return;
  }
  std::move(stage).release();
}

KERNEL void overwritten(int*, int) {
  Pipe pipe;
  auto stage = pipe.acquire();
  auto other = pipe.acquire();
  stage = std::move(other);  // violation: overwritten_while_live
  std::move(stage).release();
}
