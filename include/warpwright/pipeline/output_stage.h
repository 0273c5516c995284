// An accumulator on its way from the MMA warp to the epilogue: what each side holds while it has it.
#pragma once
#include "warpwright/core/linear.h"
#include "warpwright/core/linear_owned.h"
#include "warpwright/pipeline/handoff.h"
#include "warpwright/pipeline/producer_consumer.h"
#include "warpwright/pipeline/tmem_allocation.h"

namespace warpwright::inline WW_WORLD::pipeline {

template <OutputPipelineConfig opc>
class OutputTilePipeline;
template <OutputPipelineConfig opc, int num_input_stages>
class EpilogueKContext;

// Which accumulator and where its barriers are. It has no position and may be copied.
template <OutputPipelineConfig opc>
class OutputStage {
 public:
  using Ring = pipeline::Ring<opc.num_stages>;
  WW_FN static OutputStage from_raw(Ring ring, int index, ::warpwright::Tmem allocation) {
    return OutputStage(ring, index, allocation);
  }

  WW_FN int index() const { return index_; }
  WW_FN TmemStage<opc> tmem() const { return TmemStage<opc>(allocation_, index_); }
  WW_FN uint32_t tmem_offset() const { return tmem().offset(); }
  WW_FN Shared<Mbarrier> full() const { return ring_.full + index_; }
  WW_FN Shared<Mbarrier> empty() const { return ring_.empty + index_; }

 private:
  WW_FN OutputStage(Ring ring, int index, ::warpwright::Tmem allocation)
      : ring_(ring), index_(index), allocation_(allocation) {}
  Ring ring_;
  int index_;
  ::warpwright::Tmem allocation_;
};

// What MmaStage::mbar() gives: the commit to it is made by release(), so committing to the tag emits nothing.
struct CommittedByRelease {};
// Emits nothing: release() commits.
template <int cta_group>
WW_FN void commit(CommittedByRelease, machine::here = {}) {}
// By the thread that issued the MMAs.
template <int cta_group>
WW_FN void commit(Shared<Mbarrier> bar, machine::here at = {}) {
  machine::tcgen05_commit<cta_group>(bar, at);
}

// An empty accumulator that the MMA warp fills. Release, by the whole warp: the elected lane's one commit.
template <OutputPipelineConfig opc>
class MmaStage {
 public:
  using Here = machine::here;
  MmaStage(MmaStage&&) = default;
  MmaStage& operator=(MmaStage&&) = default;

  WW_FN int index() const { return stage_.index(); }
  WW_FN TmemStage<opc> tmem() const { return stage_.tmem(); }
  WW_FN uint32_t tmem_offset() const { return stage_.tmem_offset(); }
  WW_FN CommittedByRelease mbar() const { return {}; }

  WW_FN static void release(MmaStage& stage, Here at) { stage.ring_->release_from_mma(stage.stage_, at); }

 private:
  friend class OutputTilePipeline<opc>;
  WW_FN MmaStage(OutputTilePipeline<opc>* ring, OutputStage<opc> stage) : ring_(ring), stage_(stage) {}
  OutputTilePipeline<opc>* ring_;
  OutputStage<opc> stage_;
};

// A finished accumulator that the epilogue reads. Release, by every epilogue thread after tcgen05_wait_ld: its arrival
// on accum.empty (the leader's, in pair mode).
template <OutputPipelineConfig opc>
class EpilogueStage {
 public:
  using Here = machine::here;
  EpilogueStage(EpilogueStage&&) = default;
  EpilogueStage& operator=(EpilogueStage&&) = default;

  WW_FN int index() const { return stage_.index(); }
  WW_FN TmemStage<opc> tmem() const { return stage_.tmem(); }
  WW_FN uint32_t tmem_offset() const { return stage_.tmem_offset(); }

  WW_FN static void release(EpilogueStage& stage, Here at) {
    OutputTilePipeline<opc>::release_from_epilogue(stage.stage_, at);
  }

 private:
  friend class OutputTilePipeline<opc>;
  template <OutputPipelineConfig, int>
  friend class EpilogueKContext;
  WW_FN explicit EpilogueStage(OutputStage<opc> stage) : stage_(stage) {}
  OutputStage<opc> stage_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
