// The epilogue of the Blackwell GEMMs: its warps read accumulators from tensor memory, apply the node list in fp32 and
// store, in steps of a few columns; the accumulator is free again when the last step is in registers. A kernel K gives
// its plan, its jobs and where a tile lies.
#pragma once
#include "warpwright/kernel/fixup.h"
#include "warpwright/kernel/sm100/epilogue_loop.h"
#include "warpwright/kernel/sm100/epilogue_movers.h"
#include "warpwright/kernel/sm100/epilogue_results.h"

namespace warpwright::inline WW_WORLD::kernel::sm100 {

template <DenseGemmSm100Config C>
struct DenseEpilogue {
  using Layout = EpilogueLayout<C>;
  using Movers = EpilogueMovers<C>;
  static constexpr int kColumns = Layout::kColumns, kSteps = Layout::kSteps;
  using Values = machine::TmemRegisters<kColumns>;

  // What the other clusters multiplied of a tile.
  struct NothingToAdd {
    template <int>
    WW_FN void exchange(Values&, int) const {}
    WW_FN void finish() const {}
  };
  template <class K>
  WW_FN static auto others(const typename K::Args& args, const KernelContext& self, const tile::Job& job) {
    if constexpr (C.split == DepthSplit::none) {
      return NothingToAdd{};
    } else {
      return Fixup<C.fixup()>(args.workspace, K::raster(args).count(), self.rank, machine::thread_index(), job);
    }
  }

  // All threads of the role.
  template <class K>
  WW_FN static void finish_tiles(const typename K::Args& args, uint32_t base, const KernelContext& self) {
    using Loop = EpilogueLoop<C, K>;
    const auto mine = Layout::share();
    if constexpr (C.dependent) machine::grid_dependency_wait();
    EpilogueResults<C, K> results(args, base, mine);
    Loop::template over_tiles<tile::Job>(
        base, self, K::template walk<tile::Walker::warp>(args, base), [&](auto& epilogue, const tile::Job& job) {
          results.begin(job, self);
          const auto shared = others<K>(args, self, job);
          const bool has_product = job.k.count > 0;
          Loop::template in_steps<kColumns>(epilogue, mine, has_product, [&](int step, Values& values) {
            shared.template exchange<kColumns>(values, step * kColumns);
            if (job.last()) results.put(step, [&](int i) { return has_product ? values.get(i) : 0.f; });
          });
          shared.finish();
        });
  }

  // Called by the warps of the epilogue and of the roles that serve it; `warp` is uniform.
  template <class K>
  WW_FN static void run(int warp, const typename K::Args& args, uint32_t base, const KernelContext& self) {
    run<K>(warp, args, base, self, [&] { finish_tiles<K>(args, base, self); });
  }
  // The same for a kernel whose epilogue warps do something else.
  template <class K, class Epilogue>
  WW_FN static void run(int warp, const typename K::Args& args, uint32_t base, const KernelContext& self,
                        Epilogue&& epilogue) {
    static_assert(K::plan.role("epilogue").first_warp == 0, "share() counts the warps of the CTA");
    if constexpr (Layout::kStores) {
      constexpr RoleSpec role = K::plan.role("store");
      if (role.holds_warp(warp)) {
        if (self.elect_one_thread) Movers::template store<K>(args, base, self, warp - role.first_warp);
        return;
      }
    }
    if constexpr (Layout::kLoads) {
      constexpr RoleSpec role = K::plan.role("epilogue_load");
      if (role.holds_warp(warp)) {
        if (self.elect_one_thread) Movers::template load<K>(args, base, self, warp - role.first_warp);
        return;
      }
    }
    epilogue();
  }
};

}  // namespace warpwright::inline WW_WORLD::kernel::sm100
