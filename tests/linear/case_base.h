// What every snippet of cases.py may use: a pipe whose stages are handed out in all three forms.
#pragma once

#include <utility>

#include "warpwright/core/linear.h"
#include "warpwright/core/linear_overlap.h"
#include "warpwright/core/linear_owned.h"

#if defined(__CUDACC__)
#define KERNEL extern "C" __global__
#else
#define KERNEL extern "C"
#endif

namespace linear = warpwright::linear;

struct Pipe;

struct Stage {
  using Here = linear::Nowhere;
  Pipe* pipe;
  int slot;
  WW_FN int data() const { return slot; }
  WW_FN static void release(Stage& stage, Here);
};

// A stage that only its pipe can make and nobody can copy.
class OnlyStage {
 public:
  using Here = linear::Nowhere;
  OnlyStage(OnlyStage&&) = default;
  OnlyStage& operator=(OnlyStage&&) = default;
  WW_FN int data() const { return slot_; }
  WW_FN static void release(OnlyStage& stage, Here);

 private:
  friend struct Pipe;
  WW_FN OnlyStage(Pipe* pipe, int slot) : pipe_(pipe), slot_(slot) {}
  Pipe* pipe_;
  int slot_;
};

struct Pipe {
  int taken = 0;
  int freed = 0;

  WW_FN Stage next() { return {this, taken++ & 3}; }
  WW_FN OnlyStage next_only() { return {this, taken++ & 3}; }
  template <class Body>
  WW_FN auto stage(Body&& body) {
    return linear::scope(next(), body);
  }
  template <class Body>
  WW_FN auto only_stage(Body&& body) {
    return linear::scope(next_only(), body);
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<Stage> acquire() { return linear::Owned<Stage>(next()); }
};

WW_FN void Stage::release(Stage& stage, Here) { ++stage.pipe->freed; }
WW_FN void OnlyStage::release(OnlyStage& stage, Here) { ++stage.pipe_->freed; }

// A role with a name instead of a lambda: its brand is itself.
struct AddRole {
  int* out;
  WW_FN auto operator()(linear::Handle<AddRole, Stage> stage) const {
    *out += stage->data();
    return std::move(stage).release();
  }
};

template <class H>
WW_FN auto finish(H&& handle WW_LINEAR_SINK) {
  return std::move(handle).release();
}

template <class H>
WW_FN int peek(H& handle WW_LINEAR_LEND) {
  return handle->data();
}

// Its destructor reads the handle, and runs after the return expression has released it.
template <class H>
struct LateReader {
  H& handle;
  int* out;
  WW_FN ~LateReader() { *out += handle->data(); }
};
