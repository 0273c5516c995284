// The ring of accumulators between the MMA warp and the epilogue warps. Each role has its own object; all of them work
// on the same barriers accum.full and accum.empty.
//
//   output.producer().produce([&](auto stage) {           output.consumer().consume([&](auto stage) {
//     multiply(stage->tmem().address());                    read(stage->tmem().address()); machine::tcgen05_wait_ld();
//     return stdx::move(stage).release();                   return stdx::move(stage).release();
//   });                                                   });
//
// The MMA side is called by the whole, converged warp: every lane waits, the elected lane issues MMAs and commits. The
// epilogue side is called by every epilogue thread. The tcgen05 fences are inside.
#pragma once
#include "warpwright/pipeline/output_stage.h"

namespace warpwright::inline WW_WORLD::pipeline {

template <OutputPipelineConfig opc>
class OutputProducer;
template <OutputPipelineConfig opc>
class OutputConsumer;
template <OutputPipelineConfig opc>
class OutputKPipeline;

// One role's end of the ring. It carries a position, so it cannot be copied or moved.
template <OutputPipelineConfig opc>
class OutputTilePipeline {
 public:
  static_assert(opc.stages_are_legal(), "the output ring has at least one accumulator of at least one column");
  static_assert(opc.group_is_legal(), "cta_group is 1 or 2");
  static_assert(opc.columns_are_legal(),
                "the accumulators must fit into a power of two from 32 to 512 columns of tensor memory");

  static constexpr int num_stages = opc.num_stages;
  static constexpr int stage_stride_cols = opc.stage_stride_cols;
  static constexpr int cta_group = opc.cta_group;
  using BarrierArray = pipeline::BarrierArray<2 * num_stages>;
  using Pipeline = ProducerConsumerPipeline<num_stages>;
  using Stage = OutputStage<opc>;
  using Tmem = TmemAllocation<cta_group, opc.allocated_columns()>;
  using Ring = pipeline::Ring<num_stages>;
  // What handing an accumulator on means.
  using Publish = PublishByWarpCommit<cta_group>;
  using Free = ReleaseToLeader<cta_group, Readers::tmem>;

  WW_FN OutputTilePipeline(Ring barriers, Tmem tmem, uint16_t mma_complete_mask)
      : pipeline_(barriers), tmem_(tmem), publish_{mma_complete_mask} {}
  OutputTilePipeline(const OutputTilePipeline&) = delete;
  OutputTilePipeline& operator=(const OutputTilePipeline&) = delete;

  // By one thread, where no block plan does it: 1 arrival of the MMA warp, opc.epilogue_arrivals(threads) of the
  // epilogue.
  WW_FN static void init_barriers(Ring barriers, uint32_t producer_arrivals, uint32_t consumer_arrivals,
                                  machine::here at = {}) {
    Pipeline::init_barriers(barriers, producer_arrivals, consumer_arrivals, at);
  }

  // The pairs that the handles are made of. The ring moves on when a stage is taken, so that two can be held at once.
  WW_FN Stage acquire_for_mma(machine::here at = {}) {
    pipeline_.wait_empty(at);
    Publish::acquired(at);
    const Stage taken = stage(pipeline_.producer_stage());
    pipeline_.producer_step();
    return taken;
  }
  WW_FN void release_from_mma(const Stage& stage, machine::here at = {}) const { publish_.publish(stage.full(), at); }
  template <Scope S = Scope::cta>
  WW_FN Stage acquire_for_epilogue(machine::here at = {}) {
    pipeline_.template wait_full<S>(at);
    Free::acquired(at);
    const Stage taken = stage(pipeline_.consumer_stage());
    pipeline_.consumer_step();
    return taken;
  }
  WW_FN static void release_from_epilogue(const Stage& stage, machine::here at = {}) {
    Free::release(stage.empty(), at);
  }
  // Releases the stage that was taken last.
  WW_FN void release_from_epilogue(machine::here at = {}) const {
    const int next = pipeline_.consumer_stage();
    release_from_epilogue(stage((next == 0 ? num_stages : next) - 1), at);
  }

  // One round per output tile.
  WW_FN OutputProducer<opc> producer() { return OutputProducer<opc>(this); }
  WW_FN OutputConsumer<opc> consumer() { return OutputConsumer<opc>(this); }
  // One round per K tile.
  WW_FN OutputKPipeline<opc> per_k() { return OutputKPipeline<opc>(this); }
  template <int num_input_stages>
  WW_FN EpilogueKContext<opc, num_input_stages> per_k_epilogue(ProducerConsumerPipeline<num_input_stages>& input) {
    return EpilogueKContext<opc, num_input_stages>(this, &input);
  }

  WW_LINEAR_MAKES WW_FN linear::Owned<MmaStage<opc>> acquire_mma_linear(machine::here at = {}) {
    return linear::Owned<MmaStage<opc>>(take_for_mma(at));
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<EpilogueStage<opc>> acquire_epilogue_linear(machine::here at = {}) {
    return linear::Owned<EpilogueStage<opc>>(take_for_epilogue(at));
  }

  WW_FN const Pipeline& get_pipeline() const { return pipeline_; }
  WW_FN Tmem tmem() const { return tmem_; }
  WW_FN uint16_t mma_complete_mask() const { return publish_.mask; }

 private:
  friend class OutputProducer<opc>;
  friend class OutputConsumer<opc>;
  template <OutputPipelineConfig, int>
  friend class EpilogueKContext;

  WW_FN Stage stage(int index) const { return Stage::from_raw(pipeline_.ring(), index, tmem_.base()); }
  WW_FN MmaStage<opc> take_for_mma(machine::here at) { return MmaStage<opc>(this, acquire_for_mma(at)); }
  template <Scope S = Scope::cta>
  WW_FN EpilogueStage<opc> take_for_epilogue(machine::here at) {
    return EpilogueStage<opc>(acquire_for_epilogue<S>(at));
  }

  Pipeline pipeline_;
  Tmem tmem_;
  Publish publish_;
};

// The MMA warp's view.
template <OutputPipelineConfig opc>
class OutputProducer {
 public:
  template <class Body>
  WW_FN auto produce(Body&& body, machine::here at = {}) const {
    return linear::scope(ring_->take_for_mma(at), body);
  }

 private:
  friend class OutputTilePipeline<opc>;
  WW_FN explicit OutputProducer(OutputTilePipeline<opc>* ring) : ring_(ring) {}
  OutputTilePipeline<opc>* ring_;
};

// The epilogue's view.
template <OutputPipelineConfig opc>
class OutputConsumer {
 public:
  template <class Body>
  WW_FN auto consume(Body&& body, machine::here at = {}) const {
    return linear::scope(ring_->take_for_epilogue(at), body);
  }

 private:
  friend class OutputTilePipeline<opc>;
  WW_FN explicit OutputConsumer(OutputTilePipeline<opc>* ring) : ring_(ring) {}
  OutputTilePipeline<opc>* ring_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline

#include "warpwright/pipeline/output_per_k.h"
