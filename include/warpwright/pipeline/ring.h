// Rings of stages between roles. A stage is held through a linear handle (core/linear.h): it is handed on exactly once,
// and what that means is named in the type of the producer or consumer (pipeline/handoff.h).
//
//   Producer<4, PublishByTma> input(ring);                Consumer<4, ReleaseByWarp<Readers::threads>> input(ring);
//   input.produce([&](auto stage) {                       input.consume([&](auto stage) {
//     stage->expect_bytes(n);                               use(stage->index());
//     machine::tma_load(..., stage->full());                return stdx::move(stage).release();
//     return stdx::move(stage).release();                 });
//   });
#pragma once
#include "warpwright/core/linear.h"
#include "warpwright/core/linear_overlap.h"
#include "warpwright/core/linear_owned.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/handoff.h"
#include "warpwright/pipeline/position.h"

namespace warpwright::inline WW_WORLD::pipeline {

template <int Stages, class Publish, Scope WaitScope>
class Producer;
template <int Stages, class Release, Scope WaitScope>
class Consumer;
template <int Stages>
class ProducerConsumerPipeline;

// An empty stage that its holder fills. What publishing means is a base, so that an empty meaning leaves no trace in
// the machine code. Release publishes it and moves the producer on, so a producer holds one at a time.
template <int Stages, class Publish>
class ProducerStage : private Publish {
 public:
  using Here = machine::here;
  ProducerStage(ProducerStage&&) = default;
  ProducerStage& operator=(ProducerStage&&) = default;

  WW_FN int index() const { return position_->stage(); }
  // The barrier on which the bytes of a TMA load complete.
  WW_FN Shared<Mbarrier> full() const { return ring_.full + index(); }
  // This producer's arrival of the phase, with the bytes that all its loads into this CTA will bring.
  WW_FN void expect_bytes(uint32_t bytes, machine::here at = {}) const requires(Publish::expects_bytes) {
    machine::mbarrier_arrive_expect_tx(full(), bytes, at);
  }

  WW_FN static void release(ProducerStage& stage, Here at) {
    static_cast<const Publish&>(stage).publish(stage.full(), at);
    stage.position_->advance();
  }

 private:
  template <int, class, Scope>
  friend class Producer;
  friend class ProducerConsumerPipeline<Stages>;
  WW_FN ProducerStage(Ring<Stages> ring, RingPosition<Stages>* position, const Publish& how)
      : Publish(how), ring_(ring), position_(position) {}

  Ring<Stages> ring_;
  RingPosition<Stages>* position_;
};

// A full stage that its holder reads. The consumer has moved on when it took it, so two can be held at once.
template <int Stages, class Release>
class ConsumerStage : private Release {
 public:
  using Here = machine::here;
  ConsumerStage(ConsumerStage&&) = default;
  ConsumerStage& operator=(ConsumerStage&&) = default;

  WW_FN int index() const { return index_; }

  WW_FN static void release(ConsumerStage& stage, Here at) {
    static_cast<const Release&>(stage).release(stage.empty_ + stage.index_, at);
  }

 private:
  template <int, class, Scope>
  friend class Consumer;
  friend class ProducerConsumerPipeline<Stages>;
  WW_FN ConsumerStage(Shared<Mbarrier> empty, int index, const Release& how)
      : Release(how), empty_(empty), index_(index) {}

  Shared<Mbarrier> empty_;
  int index_;
};

// The stages of the two usual producers, for functions that take one as a parameter.
template <int Stages>
using TmaProducerStage = ProducerStage<Stages, PublishByTma>;
template <int Stages, To T>
using ThreadProducerStage = ProducerStage<Stages, PublishByThread<T>>;

// WaitScope::cluster when threads of other CTAs release the stages after ordinary loads.
template <int Stages, class Publish, Scope WaitScope = Scope::cta>
class Producer {
 public:
  using Stage = ProducerStage<Stages, Publish>;

  WW_FN explicit Producer(Ring<Stages> ring, Publish how = {})
      : ring_(ring), position_(machine::Phase::producer()), how_(how) {}
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Waits for the next empty stage and runs body(stage), which ends in `return stdx::move(stage).release();`.
  template <class Body>
  WW_FN auto produce(Body&& body, machine::here at = {}) {
    return linear::scope(acquire(at), body);
  }

  WW_LINEAR_MAKES WW_FN linear::Owned<Stage> acquire_linear(machine::here at = {}) {
    return linear::Owned<Stage>(acquire(at));
  }

  // Returns when every stage has come back. Needed where nothing else keeps the CTA alive until its consumers are done.
  WW_FN void drain(machine::here at = {}) {
    for (int i = 0; i < Stages; ++i) {
      machine::mbarrier_wait<WaitScope>(ring_.empty + position_.stage(), position_.phase(), at);
      position_.advance();
    }
  }

 private:
  WW_FN Stage acquire(machine::here at) {
    machine::mbarrier_wait<WaitScope>(ring_.empty + position_.stage(), position_.phase(), at);
    Publish::acquired(at);
    return Stage(ring_, &position_, how_);
  }

  Ring<Stages> ring_;
  RingPosition<Stages> position_;
  [[no_unique_address]] Publish how_;
};

// WaitScope::cluster when threads of other CTAs publish the stages after ordinary stores.
template <int Stages, class Release, Scope WaitScope = Scope::cta>
class Consumer {
 public:
  using Stage = ConsumerStage<Stages, Release>;

  WW_FN explicit Consumer(Ring<Stages> ring, Release how = {})
      : ring_(ring), position_(machine::Phase::consumer()), how_(how) {}
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Waits for the next full stage and runs body(stage), which ends in `return stdx::move(stage).release();`.
  template <class Body>
  WW_FN auto consume(Body&& body, machine::here at = {}) {
    return linear::scope(acquire(at), body);
  }

  // Takes n stages and holds two at once: stage k-1 is released after the work on stage k was issued. See
  // linear::overlap.
  template <class First, class Step, class Last>
  WW_FN void consume_overlapped(int n, First&& first, Step&& step, Last&& last, machine::here at = {}) {
    static_assert(Stages >= 2, "two stages are held at once");
    const auto next = [&] { return acquire(at); };
    linear::overlap(n, next, first, step, last);
  }

  WW_LINEAR_MAKES WW_FN linear::Owned<Stage> acquire_linear(machine::here at = {}) {
    return linear::Owned<Stage>(acquire(at));
  }

  // Leaves the next stages to another consumer of the ring.
  WW_FN void skip(int stages) { position_.advance(stages); }

 private:
  WW_FN Stage acquire(machine::here at) {
    const int index = position_.stage();
    machine::mbarrier_wait<WaitScope>(ring_.full + index, position_.phase(), at);
    Release::acquired(at);
    position_.advance();
    return Stage(ring_.empty, index, how_);
  }

  Ring<Stages> ring_;
  RingPosition<Stages> position_;
  [[no_unique_address]] Release how_;
};

}  // namespace warpwright::inline WW_WORLD::pipeline
