// The ring of operand tiles between the load warp and the MMA warp. One round of the barriers covers k_group_size
// tiles.
//
//   InputTilePipeline<Payload, groups, 2> input(ring, payload);             per role
//   input.producer().produce([&](auto stage) {            input.consumer().consume([&](auto stage) {
//     stage->expect_tiles();  (elected lane of the leader)  for k < 2: multiply(stage->tile(k));   (elected lane)
//     for k < 2: tma_load(stage->tile(k).a, ..., stage->full());
//     return stdx::move(stage).release();                   return stdx::move(stage).release();
//   });                                                   });
#pragma once
#include "warpwright/core/linear.h"
#include "warpwright/core/linear_owned.h"
#include "warpwright/pipeline/output_stage.h"
#include "warpwright/pipeline/payload.h"
#include "warpwright/pipeline/producer_consumer.h"

namespace warpwright::inline WW_WORLD::pipeline {

// The answer of try_acquire: whether the stage that the next acquire takes is there already.
class [[nodiscard]] Ready {
  template <class Payload, int groups, int k_group_size, class Free>
  friend class InputTilePipeline;
  WW_FN explicit Ready(bool ready) : ready_(ready) {}
  bool ready_;
};

// An empty group. By one thread, or by a whole warp that issues from its elected lane. Release moves on; the arrival
// was expect_bytes. In pair mode both CTAs run the producer, the leader alone expects the bytes of both, and loads
// complete on leader_full().
template <class Payload, int groups, int k_group_size>
class InputProducerStage {
 public:
  using Here = machine::here;
  InputProducerStage(InputProducerStage&&) = default;
  InputProducerStage& operator=(InputProducerStage&&) = default;

  WW_FN int index() const { return stage_.index(); }
  WW_FN typename Payload::Tile tile(int k = 0) const { return payload_.tile(index() * k_group_size + k); }
  WW_FN const Payload& payload() const { return payload_; }
  WW_FN Shared<Mbarrier> full() const { return stage_.full(); }
  WW_FN ClusterShared<Mbarrier> leader_full() const { return machine::map_to_leader(stage_.full()); }
  // Once, with all that will land: the one arrival of the phase.
  WW_FN void expect_bytes(uint32_t bytes, machine::here at = {}) const { stage_.expect_bytes(bytes, at); }
  // The bytes of `tiles` whole tiles in each of `ctas` CTAs.
  WW_FN void expect_tiles(int ctas = 1, int tiles = k_group_size, machine::here at = {}) const {
    expect_bytes(Payload::tile_bytes * uint32_t(ctas * tiles), at);
  }

  WW_FN static void release(InputProducerStage& stage, Here at) { Stage::release(stage.stage_, at); }

 private:
  using Stage = ProducerStage<groups, PublishByTma>;
  template <class, int, int, class>
  friend class InputTilePipeline;
  WW_FN InputProducerStage(Stage&& stage, Payload payload) : stage_(static_cast<Stage&&>(stage)), payload_(payload) {}
  Stage stage_;
  Payload payload_;
};

// A full group. Release does what Free means: on Blackwell the commit to the empty barriers.
template <class Payload, int groups, int k_group_size, class Free>
class InputConsumerStage {
 public:
  using Here = machine::here;
  InputConsumerStage(InputConsumerStage&&) = default;
  InputConsumerStage& operator=(InputConsumerStage&&) = default;

  WW_FN int index() const { return stage_.index(); }
  WW_FN typename Payload::Tile tile(int k = 0) const { return payload_.tile(index() * k_group_size + k); }
  WW_FN const Payload& payload() const { return payload_; }
  WW_FN CommittedByRelease mbar() const { return {}; }

  WW_FN static void release(InputConsumerStage& stage, Here at) { Stage::release(stage.stage_, at); }

 private:
  using Stage = ConsumerStage<groups, Free>;
  template <class, int, int, class>
  friend class InputTilePipeline;
  WW_FN InputConsumerStage(Stage&& stage, Payload payload) : stage_(static_cast<Stage&&>(stage)), payload_(payload) {}
  Stage stage_;
  Payload payload_;
};

template <class Input>
class InputProducer;
template <class Input>
class InputConsumer;

// Free: a meaning of release from pipeline/handoff.h. ReleaseByWarpCommit<cta_group> and, in a cluster that shares
// loads, ReleaseByWarpCommitMulticast<cta_group>{context.input_release_mask} are called by the whole MMA warp.
template <class Payload_, int groups, int k_group_size = 1, class Free = ReleaseByWarpCommit<1>>
class InputTilePipeline {
 public:
  static_assert(k_group_size >= 1, "a group has at least one tile");
  using Payload = Payload_;
  using Pipeline = ProducerConsumerPipeline<groups>;
  using Producing = InputProducerStage<Payload, groups, k_group_size>;
  using Consuming = InputConsumerStage<Payload, groups, k_group_size, Free>;
  static constexpr int num_groups = groups;
  static constexpr int tiles_per_group = k_group_size;
  static constexpr uint32_t group_bytes = Payload::tile_bytes * k_group_size;

  WW_FN InputTilePipeline(Ring<groups> ring, Payload payload, Free free = {})
      : pipeline_(ring), payload_(payload), free_(free) {}
  InputTilePipeline(const InputTilePipeline&) = delete;
  InputTilePipeline& operator=(const InputTilePipeline&) = delete;

  WW_FN InputProducer<InputTilePipeline> producer() { return InputProducer<InputTilePipeline>(this); }
  WW_FN InputConsumer<InputTilePipeline> consumer() { return InputConsumer<InputTilePipeline>(this); }
  WW_FN const Pipeline& get_pipeline() const { return pipeline_; }
  // For the epilogue that reads scales (OutputTilePipeline::per_k_epilogue) and moves this ring on.
  WW_FN Pipeline& pipeline() { return pipeline_; }
  WW_FN const Payload& payload() const { return payload_; }

  WW_LINEAR_MAKES WW_FN linear::Owned<Producing> acquire_producer(machine::here at = {}) {
    return linear::Owned<Producing>(take_empty(false, at));
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<Consuming> acquire_consumer(machine::here at = {}) {
    return linear::Owned<Consuming>(take_full(false, at));
  }
  // Returns when every group has come back, also from peers: keeps the CTA alive until then.
  WW_FN void drain_producer(machine::here at = {}) { pipeline_.drain_producer(at); }

 private:
  friend class InputProducer<InputTilePipeline>;
  friend class InputConsumer<InputTilePipeline>;
  // The loads of both CTAs of a pair complete on the leader's barrier. Where threads of the peer read what its loads
  // brought, the leader passes that on, and must have acquired it at the scope of both.
  static constexpr Scope kFilled = Payload::read_by_threads && Free::cta_group == 2 ? Scope::cluster : Scope::cta;
  WW_FN Producing take_empty(bool ready, machine::here at) {
    return Producing(pipeline_.take_empty(PublishByTma{}, ready, at), payload_);
  }
  WW_FN Consuming take_full(bool ready, machine::here at) {
    return Consuming(pipeline_.template take_full<kFilled>(free_, ready, at), payload_);
  }
  WW_FN Ready try_empty(machine::here at) const { return Ready(pipeline_.try_empty(at)); }
  WW_FN Ready try_full(machine::here at) const { return Ready(pipeline_.try_full(at)); }
  WW_FN Producing take_empty(Ready ready, machine::here at) { return take_empty(ready.ready_, at); }
  WW_FN Consuming take_full(Ready ready, machine::here at) { return take_full(ready.ready_, at); }

  Pipeline pipeline_;
  Payload payload_;
  [[no_unique_address]] Free free_;
};

// The load warp's view.
template <class Input>
class InputProducer {
 public:
  template <class Body>
  WW_FN auto produce(Body&& body, machine::here at = {}) const {
    return linear::scope(input_->take_empty(false, at), body);
  }
  // Asks early, acquires later: the wait is skipped when the group was there already.
  WW_FN Ready try_acquire(machine::here at = {}) const { return input_->try_empty(at); }
  template <class Body>
  WW_FN auto produce_if_needed(Ready ready, Body&& body, machine::here at = {}) const {
    return linear::scope(input_->take_empty(ready, at), body);
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<typename Input::Producing> acquire_stage(machine::here at = {}) const {
    return input_->acquire_producer(at);
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<typename Input::Producing> acquire_if_needed(Ready ready,
                                                                                   machine::here at = {}) const {
    return linear::Owned<typename Input::Producing>(input_->take_empty(ready, at));
  }
  WW_FN void drain(machine::here at = {}) const { input_->drain_producer(at); }

 private:
  friend Input;
  WW_FN explicit InputProducer(Input* input) : input_(input) {}
  Input* input_;
};

// The MMA warp's view.
template <class Input>
class InputConsumer {
 public:
  template <class Body>
  WW_FN auto consume(Body&& body, machine::here at = {}) const {
    return linear::scope(input_->take_full(false, at), body);
  }
  WW_FN Ready try_acquire(machine::here at = {}) const { return input_->try_full(at); }
  template <class Body>
  WW_FN auto consume_if_needed(Ready ready, Body&& body, machine::here at = {}) const {
    return linear::scope(input_->take_full(ready, at), body);
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<typename Input::Consuming> acquire_stage(machine::here at = {}) const {
    return input_->acquire_consumer(at);
  }
  WW_LINEAR_MAKES WW_FN linear::Owned<typename Input::Consuming> acquire_if_needed(Ready ready,
                                                                                   machine::here at = {}) const {
    return linear::Owned<typename Input::Consuming>(input_->take_full(ready, at));
  }

 private:
  friend Input;
  WW_FN explicit InputConsumer(Input* input) : input_(input) {}
  Input* input_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
