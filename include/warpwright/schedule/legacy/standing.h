// What the reference's schedules are worth: the verdict of both validators over short and long runs, and the same
// schedules with the fewest changes that make the verdict clean.
#pragma once
#include "warpwright/schedule/hazard.h"
#include "warpwright/schedule/legacy/accesses.h"
#include "warpwright/schedule/version.h"

namespace warpwright::schedule::legacy {

// proven             nothing is left to timing
// latency_dependent  a write may be issued before a read of what it destroys is known to be complete; only the latency
//                    of the copy protects the data
// broken             data may be read before it is known to be there, or the order itself is wrong
enum class Standing : uint8_t { proven, latency_dependent, broken };

constexpr const char* word(Standing s) {
  constexpr const char* words[3] = {"proven", "latency-dependent", "broken"};
  return words[int(s)];
}

constexpr Standing standing_of(const Diagnostics& found) {
  Standing s = Standing::proven;
  for (const Diagnostic& d : found) {
    if (d.code != Code::hazard_war) return Standing::broken;
    s = Standing::latency_dependent;
  }
  return s;
}

// Two entries more than the reference: fragments of B's second column and of A's second row are known to be read before
// they are overwritten, by the wave itself and by the other group. Not enough: the waves of one group read the same
// rows of A, and nothing keeps one of them from overwriting what its neighbour has not read yet.
struct DrainedPingPong : PingPong {
  constexpr DrainedPingPong() : PingPong(PingPong::fp8()) {}
  constexpr void repair(PipelineProgram& program) const {
    for (const size_t half : {size_t(0), size_t(4)}) {
      program.blocks[half + 1].pre_sync = OpDesc::wait_lgkm(0);
      program.blocks[half + 1].post_barrier_lgkm = false;
      program.blocks[half + 2].drain_lgkm_before_loads = true;
    }
  }
};

// As many entries as the reference, and proven: the load of A's first part moves to the last block of its half, one
// barrier after the last read of that part, which makes the drains unnecessary.
struct SafePingPong : PingPong {
  constexpr SafePingPong() : PingPong(PingPong::fp8()) {}
  constexpr void repair(PipelineProgram& program) const {
    for (const size_t half : {size_t(0), size_t(4)}) {
      MMABlockSpec& reads_b = program.blocks[half + 1];
      MMABlockSpec& reads_a = program.blocks[half + 2];
      MMABlockSpec& last = program.blocks[half + 3];
      reads_b.pre_sync = OpDesc::wait_lgkm(0);
      reads_b.post_barrier_lgkm = false;
      last.global_load_1 = reads_a.global_load;
      last.global_load_1_prefetch = reads_a.global_load_prefetch;
      reads_a.global_load = reads_a.global_load_1;
      reads_a.global_load_prefetch = reads_a.global_load_1_prefetch;
      reads_a.global_load_1 = {};
      reads_a.global_load_1_prefetch = false;
    }
  }
};

// The 4-wave kernel with the wait that the reference's own derivation overwrites. Its epilogue must be entered with all
// loads drained and a barrier passed.
struct SafeFourWave : FourWave {
  constexpr void repair(PipelineProgram& program) const {
    for (const size_t half : {size_t(0), size_t(4)}) program.blocks[half].entry_wait_lgkm = OpDesc::wait_lgkm(0);
  }
};

constexpr PingPongModel model_of(const PingPong& p, int iterations) { return PingPongModel::of(p, iterations); }
constexpr FourWaveModel model_of(const FourWave& f, int iterations) { return FourWaveModel::of(f, iterations); }
constexpr DefaultModel model_of(const DefaultMatmul&, int) { return {}; }
constexpr RunShape shape_of(const PingPong&) { return PingPongModel::shape(); }
constexpr RunShape shape_of(const FourWave&) { return FourWaveModel::shape(); }
constexpr RunShape shape_of(const SafeFourWave&) { return FourWaveModel::shape(true); }
constexpr RunShape shape_of(const DefaultMatmul&) { return DefaultModel::shape(); }

// Everything that both validators find in runs of 0 to 3 iterations. Hazards repeat from run to run; a finding is kept
// once for each phase.
template <class S>
constexpr Diagnostics assess(const S& spec, const Compiled& c, const RunShape& shape, int most_iterations = 3) {
  Diagnostics found;
  for (int n = 0; n <= most_iterations; ++n) {
    const auto model = model_of(spec, n);
    Diagnostics now = find_hazards(c, shape, n, model, c.costs);
    for (const Diagnostic& d : simulate_versions(c, shape, n, model, c.costs)) now.push_back(d);
    for (const Diagnostic& d : now) {
      bool known = false;
      for (const Diagnostic& old : found) {
        known = known || (old.code == d.code && old.a == d.a && old.b == d.b && old.role_a == d.role_a &&
                          old.role_b == d.role_b && old.phase == d.phase && old.same_wave == d.same_wave);
      }
      if (!known) found.push_back(d);
    }
  }
  return found;
}
template <class S>
constexpr Diagnostics assess(const S& spec) {
  return assess(spec, compile(spec), shape_of(spec));
}

}  // namespace warpwright::schedule::legacy
