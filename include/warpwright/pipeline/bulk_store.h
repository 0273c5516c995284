// The role that empties a ring of stages into device memory by bulk stores.
#pragma once
#include "warpwright/pipeline/ring.h"

namespace warpwright::inline WW_WORLD::pipeline {

// By one thread: bulk groups belong to the thread that commits them.
template <int Stages>
class BulkStore {
 public:
  WW_FN explicit BulkStore(Ring<Stages> ring) : full_(ring) {}
  BulkStore(const BulkStore&) = delete;
  BulkStore& operator=(const BulkStore&) = delete;

  // Takes `count` stages; send(stage index) issues the stores of one. Stage i is handed back when the stores of stage
  // i + 1 are under way and its own have read it, the last one when it was read.
  template <class Send>
  WW_FN void run(int count, Send&& send, machine::here at = {}) {
    const auto store = [&](int stage) {
      send(stage);
      machine::bulk_commit(at);
    };
    full_.consume_overlapped(
        count,
        [&](auto current) {
          store(current->index());
          return stdx::move(current).keep();
        },
        [&](auto previous, auto current) {
          store(current->index());
          machine::bulk_wait_read<1>(at);
          return stdx::move(previous).release_keep(stdx::move(current));
        },
        [&](auto previous) {
          machine::bulk_wait_read<0>(at);
          return stdx::move(previous).release();
        },
        at);
  }
  // Returns when everything is written.
  WW_FN void finish(machine::here at = {}) { machine::bulk_wait<0>(at); }

 private:
  Consumer<Stages, ReleaseByThread<Readers::async>> full_;
};

// Where the number of stages is known from the start.
template <int Stages, class Send>
WW_FN void bulk_store_all(Ring<Stages> ring, int count, Send&& send, machine::here at = {}) {
  BulkStore<Stages> stores(ring);
  stores.run(count, send, at);
  stores.finish(at);
}

}  // namespace warpwright::inline WW_WORLD::pipeline
