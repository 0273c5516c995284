// Both sides of a ring in one object, for roles that need the waits and the steps apart: a stage acquired after a
// try-wait, a position that one role reads and another context moves. Where one side is enough, use Producer or
// Consumer of pipeline/ring.h. Stages are named by what they are waited for: full is what a producer has published,
// empty what a consumer has handed back.
#pragma once
#include "warpwright/core/unroll.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::pipeline {

template <class Payload, int groups, int k_group_size, class Free>
class InputTilePipeline;

// Each role makes its own; it cannot be copied, because two holders of one position would wait for the same phase
// twice.
template <int Stages>
class ProducerConsumerPipeline {
 public:
  static_assert(Stages >= 1, "a ring has at least one stage");
  using Barriers = BarrierArray<2 * Stages>;
  static constexpr int num_stages = Stages;
  static constexpr uint32_t smem_bytes = 2 * Stages * sizeof(Mbarrier);

  WW_FN explicit ProducerConsumerPipeline(Ring<Stages> ring) : ring_(ring) {}
  ProducerConsumerPipeline(const ProducerConsumerPipeline&) = delete;
  ProducerConsumerPipeline& operator=(const ProducerConsumerPipeline&) = delete;

  // By one thread; fence_mbarrier_init and a barrier of block or cluster must follow. A kernel with a block plan calls
  // set_up_barriers<K>() instead.
  WW_FN static void init_barriers(Ring<Stages> ring, uint32_t producer_arrivals, uint32_t consumer_arrivals,
                                  machine::here at = {}) {
    WW_UNROLL
    for (int i = 0; i < Stages; ++i) {
      machine::mbarrier_init(ring.full + i, producer_arrivals, at);
      machine::mbarrier_init(ring.empty + i, consumer_arrivals, at);
    }
  }

  WW_FN Ring<Stages> ring() const { return ring_; }
  WW_FN Shared<Mbarrier> full(int stage) const { return ring_.full + stage; }
  WW_FN Shared<Mbarrier> empty(int stage) const { return ring_.empty + stage; }
  WW_FN int producer_stage() const { return producer_.stage(); }
  WW_FN int consumer_stage() const { return consumer_.stage(); }

  // The consumer's wait for its stage to be published, the producer's for its stage to come back. No position moves.
  // Scope::cluster where ordinary loads will read what another CTA's operations have announced.
  template <Scope S = Scope::cta>
  WW_FN void wait_full(machine::here at = {}) const {
    machine::mbarrier_wait<S>(full(consumer_.stage()), consumer_.phase(), at);
  }
  WW_FN void wait_empty(machine::here at = {}) const {
    machine::mbarrier_wait(empty(producer_.stage()), producer_.phase(), at);
  }
  // One attempt; the answer belongs in the wait_*_unless that follows, with no step between.
  WW_FN bool try_full(machine::here at = {}) const {
    return machine::mbarrier_try_wait(full(consumer_.stage()), consumer_.phase(), at);
  }
  WW_FN bool try_empty(machine::here at = {}) const {
    return machine::mbarrier_try_wait(empty(producer_.stage()), producer_.phase(), at);
  }
  // One attempt acquires at CTA scope, so more is waited for in any case; it passes at once.
  template <Scope S = Scope::cta>
  WW_FN void wait_full_unless(bool ready, machine::here at = {}) const {
    if (S != Scope::cta || !ready) wait_full<S>(at);
  }
  WW_FN void wait_empty_unless(bool ready, machine::here at = {}) const {
    if (!ready) wait_empty(at);
  }

  // Steps signal nothing.
  WW_FN void producer_step() { producer_.advance(); }
  WW_FN void consumer_step() { consumer_.advance(); }

  // A round that carries no data, such as a throttle: wait, arrive, step.
  WW_FN void producer_signal_and_step(machine::here at = {}) {
    wait_empty(at);
    machine::mbarrier_arrive(full(producer_.stage()), 1, at);
    producer_step();
  }
  WW_FN void consumer_signal_and_step(machine::here at = {}) {
    wait_full(at);
    machine::mbarrier_arrive(empty(consumer_.stage()), 1, at);
    consumer_step();
  }

  template <class Publish, class Body>
  WW_FN auto produce(Body&& body, Publish how = {}, machine::here at = {}) {
    return linear::scope(take_empty(how, false, at), body);
  }
  template <class Publish>
  WW_LINEAR_MAKES WW_FN linear::Owned<ProducerStage<Stages, Publish>> acquire_producer(Publish how = {},
                                                                                       machine::here at = {}) {
    return linear::Owned<ProducerStage<Stages, Publish>>(take_empty(how, false, at));
  }
  template <class Release, class Body>
  WW_FN auto consume(Body&& body, Release how = {}, machine::here at = {}) {
    return linear::scope(take_full(how, false, at), body);
  }
  template <class Release>
  WW_LINEAR_MAKES WW_FN linear::Owned<ConsumerStage<Stages, Release>> acquire_consumer(Release how = {},
                                                                                       machine::here at = {}) {
    return linear::Owned<ConsumerStage<Stages, Release>>(take_full(how, false, at));
  }

  // Returns when every stage has come back: stages that were never used count as come back.
  WW_FN void drain_producer(machine::here at = {}) {
    for (int i = 0; i < Stages; ++i) {
      wait_empty(at);
      producer_step();
    }
  }

 private:
  template <class Payload, int groups, int k_group_size, class Free>
  friend class InputTilePipeline;
  template <class Publish>
  WW_FN ProducerStage<Stages, Publish> take_empty(Publish how, bool ready, machine::here at) {
    wait_empty_unless(ready, at);
    how.acquired(at);
    return ProducerStage<Stages, Publish>(ring_, &producer_, how);
  }
  template <Scope S = Scope::cta, class Release>
  WW_FN ConsumerStage<Stages, Release> take_full(Release how, bool ready, machine::here at) {
    const int index = consumer_.stage();
    wait_full_unless<S>(ready, at);
    how.acquired(at);
    consumer_step();
    return ConsumerStage<Stages, Release>(ring_.empty, index, how);
  }

  Ring<Stages> ring_;
  RingPosition<Stages> producer_{machine::Phase::producer()};
  RingPosition<Stages> consumer_{machine::Phase::consumer()};
};

}  // namespace warpwright::inline WW_WORLD::pipeline
