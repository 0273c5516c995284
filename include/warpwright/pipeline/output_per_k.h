// The output ring in kernels that hand over an accumulator for every K tile (blockwise FP8: the epilogue promotes each
// partial sum with its scales). The contexts run a body that ends in `return stdx::move(stage).release();`.
#pragma once
#include "warpwright/pipeline/output_tile.h"

namespace warpwright::inline WW_WORLD::pipeline {

// One round of the MMA warp.
template <OutputPipelineConfig opc>
class MmaKStage {
 public:
  WW_FN explicit MmaKStage(OutputTilePipeline<opc>& ring) : ring_(ring.producer()) {}
  template <class Body>
  WW_FN auto run(Body&& body, machine::here at = {}) const {
    return ring_.produce(body, at);
  }

 private:
  OutputProducer<opc> ring_;
};

// One round of the epilogue.
template <OutputPipelineConfig opc>
class PerKConsumerStage {
 public:
  WW_FN explicit PerKConsumerStage(OutputTilePipeline<opc>& ring) : ring_(ring.consumer()) {}
  template <class Body>
  WW_FN auto run(Body&& body, machine::here at = {}) const {
    return ring_.consume(body, at);
  }

 private:
  OutputConsumer<opc> ring_;
};

// The ring, used once for every K tile instead of once for every output tile.
template <OutputPipelineConfig opc>
class OutputKPipeline {
 public:
  WW_FN MmaKStage<opc> produce() const { return MmaKStage<opc>(*ring_); }
  WW_FN PerKConsumerStage<opc> consume() const { return PerKConsumerStage<opc>(*ring_); }

 private:
  friend class OutputTilePipeline<opc>;
  WW_FN explicit OutputKPipeline(OutputTilePipeline<opc>* ring) : ring_(ring) {}
  OutputTilePipeline<opc>* ring_;
};

// One accumulator and the stage of the input ring from which it was computed, whose scales the epilogue reads. Release:
// one arrival of each epilogue warp on the input's empty barrier, the arrivals on accum.empty.
template <OutputPipelineConfig opc, int num_input_stages>
class EpilogueKStage {
 public:
  using Here = machine::here;
  EpilogueKStage(EpilogueKStage&&) = default;
  EpilogueKStage& operator=(EpilogueKStage&&) = default;

  WW_FN int index() const { return accumulator_.index(); }
  WW_FN TmemStage<opc> tmem() const { return accumulator_.tmem(); }
  WW_FN uint32_t tmem_offset() const { return accumulator_.tmem_offset(); }
  WW_FN int input_stage_index() const { return input_index_; }

  WW_FN static void release(EpilogueKStage& stage, Here at) {
    // The scales are ordinary loads, and the next TMA overwrites them.
    ReleaseByWarp<Readers::threads>::release(stage.input_empty_ + stage.input_index_, at);
    EpilogueStage<opc>::release(stage.accumulator_, at);
  }

 private:
  template <OutputPipelineConfig, int>
  friend class EpilogueKContext;
  WW_FN EpilogueKStage(EpilogueStage<opc>&& accumulator, ProducerConsumerPipeline<num_input_stages>& input)
      : accumulator_(static_cast<EpilogueStage<opc>&&>(accumulator)),
        input_empty_(input.ring().empty),
        input_index_(input.consumer_stage()) {
    input.consumer_step();
  }
  EpilogueStage<opc> accumulator_;
  Shared<Mbarrier> input_empty_;
  int input_index_;
};

// The wait for the accumulator is the only one: its MMAs were issued after input.full, and their commit carries that.
// In a pair the chain crosses CTAs: the peer's scales land by a load that completes on the leader's barrier, the
// leader's MMA warp waits for it, and its commit arrives at the peer's accum.full. In the PTX memory model a release
// and an acquire synchronize only if the scope of each contains the thread of the other: so both waits of a pair
// acquire at cluster scope, here and in InputTilePipeline. tcgen05.ld alone needs neither: it is ordered by the
// completion of the MMAs. The simulator is content with less: there a commit carries every asynchronous operation that
// its thread had seen complete, such as these loads, at either scope, and no ordinary store at any
// (tests/sim/pair_scope_test.cpp).
template <OutputPipelineConfig opc, int num_input_stages>
class EpilogueKContext {
 public:
  using Stage = EpilogueKStage<opc, num_input_stages>;
  template <class Body>
  WW_FN auto run(Body&& body, machine::here at = {}) const {
    constexpr Scope scope = opc.cta_group == 2 ? Scope::cluster : Scope::cta;
    return linear::scope(Stage(ring_->template take_for_epilogue<scope>(at), *input_), body);
  }

 private:
  friend class OutputTilePipeline<opc>;
  WW_FN EpilogueKContext(OutputTilePipeline<opc>* ring, ProducerConsumerPipeline<num_input_stages>* input)
      : ring_(ring), input_(input) {}
  OutputTilePipeline<opc>* ring_;
  ProducerConsumerPipeline<num_input_stages>* input_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
