// The schedule of a CDNA matmul, made and proven while the kernel is compiled; its entries are template arguments.
#pragma once
#include "warpwright/kernel/cdna/config.h"
#include "warpwright/schedule/block_pipeline.h"

namespace warpwright::cdna {

constexpr schedule::KernelGeometry geometry_of(const CdnaMatmulConfig& c) {
  return {.bm = c.tile_m(),
          .bn = c.tile_n(),
          .bk = c.tile_k(),
          .mma_m = CdnaMatmulConfig::kMma,
          .mma_n = CdnaMatmulConfig::kMma,
          .mma_k = c.mma_k(),
          .elem_bytes = c.element_bytes(),
          .warps_m = c.waves_m(),
          .warps_n = c.waves_n()};
}

constexpr schedule::Pipeline pipeline_of(const CdnaMatmulConfig& c) {
  const schedule::Target& target = c.arch == Arch::gfx942 ? schedule::targets::gfx942 : schedule::targets::gfx950;
  switch (c.variant) {
    case CdnaVariant::ping_pong:
      return schedule::compile(schedule::ping_pong(target, geometry_of(c)), target);
    case CdnaVariant::blocks:
      return schedule::ping_pong_of_blocks(target, geometry_of(c));
    case CdnaVariant::four_wave:
      return schedule::compile(schedule::four_wave(target, geometry_of(c)), target);
    default:
      return schedule::compile(schedule::default_matmul(target), target);
  }
}

// Tiles are counted in bytes, so fp8 makes as many loads and reads as bf16. Its MFMAs are half as many and take twice
// as long, so one schedule serves both.
constexpr CdnaMatmulConfig schedule_key(const CdnaMatmulConfig& c) { return {.arch = c.arch, .variant = c.variant}; }
constexpr bool shares_schedule(const CdnaMatmulConfig& c) {
  const schedule::KernelGeometry g = geometry_of(c), k = geometry_of(schedule_key(c));
  return !c.uses_dma() || (g.vm_a() == k.vm_a() && g.vm_b() == k.vm_b() && g.lgkm_a() == k.lgkm_a() &&
                           g.lgkm_b() == k.lgkm_b() && g.bk * g.elem_bytes == k.bk * k.elem_bytes);
}

struct FrozenPhase {
  static constexpr size_t kRoom = 64;
  schedule::ScheduleEntry entries[kRoom] = {};
  size_t count = 0;

  constexpr bool take(const schedule::EntryList& list) {
    if (list.size() > kRoom) return false;
    for (const schedule::ScheduleEntry& e : list) entries[count++] = e;
    return true;
  }
};

struct FrozenPipeline {
  FrozenPhase prologue = {}, kernel = {}, epilogue = {};
  int stages = 0;
  int depth = 0;  // LDS slots of A and of B
  int tiles = 1;  // of K in an iteration
  int interval = 0, least_interval = 0;
  bool staggered = false;
  int stagger_at = 0;  // prologue entry before which the trailing group meets its extra barrier
  bool proven = false;
  schedule::OpLabel labels[8] = {};

  constexpr const FrozenPhase& phase(schedule::Phase p) const {
    return p == schedule::Phase::prologue ? prologue : p == schedule::Phase::kernel ? kernel : epilogue;
  }
};

constexpr FrozenPipeline freeze(const schedule::Pipeline& p) {
  FrozenPipeline f;
  f.proven = p.ok() && f.prologue.take(p.schedule.prologue) && f.kernel.take(p.schedule.kernel) &&
             f.epilogue.take(p.schedule.epilogue);
  f.stages = p.stages();
  f.depth = p.depths.empty() ? 0 : p.depths[0].depth;
  for (const schedule::BufferDepth& d : p.depths) f.proven = f.proven && d.depth == f.depth;
  f.tiles = p.body.tiles_per_iteration;
  f.interval = p.interval();
  f.least_interval = p.mii();
  f.staggered = p.shape.staggered;
  f.stagger_at = p.schedule.warp_stagger_index;
  for (int i = 0; i < 8; ++i) f.labels[i] = p.costs.costs[i].label;
  // The shortest run that has one iteration of the kernel's loop; the tests prove the longer ones. There is no run
  // without one: the kernel adds tiles of zeros to a shorter product.
  f.proven = f.proven && verify(p, p.stages()).empty();
  return f;
}

template <CdnaMatmulConfig Key>
inline constexpr FrozenPipeline kFrozen = freeze(pipeline_of(Key));

}  // namespace warpwright::cdna
