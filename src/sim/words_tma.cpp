// Asynchronous copies. An operation has two milestones: its source has been read, its destination has been written.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "copy_time.h"
#include "fault/fault.h"
#include "model.h"
#include "words.h"

namespace warpwright::simulator {

void check_shared_alignment(Engine& e, Thread& t, uint32_t address, uint32_t alignment, here at, const char* word) {
  if (address % alignment)
    e.fail("tma.alignment",
           fmt::format("{}: shared address of {} is not a multiple of {}", word,
                       e.name_of(*t.cta, address & kSharedOffsetMask), alignment),
           &t, at);
}

}  // namespace warpwright::simulator

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace {

// From the first byte of a tensor to its last.
uint64_t extent(const model::TensorMapFields& m) {
  uint64_t bytes = (m.dims[0] * uint64_t(model::element_bits(m.type)) + 7) / 8;
  for (int d = 1; d < m.rank; ++d) bytes += (m.dims[d] - 1) * m.strides[d];
  return bytes;
}

// The box in shared memory is one run of bytes; rows of it lie apart in global memory.
void touch_box_global(Engine& e, const Toucher& now, const model::TensorMapFields& m, const int32_t* coords,
                      uint32_t address, bool write) {
  const Buffer* b = e.buffer_of(m.base, extent(m));
  // Nobody writes it, and no box of the tensor reaches beyond it.
  if (b && b->use == Buffer::Use::input && !write && !(b->from_primary && e.options().primary_pending)) return;
  uint8_t* run = nullptr;
  uint64_t bytes = 0;
  auto flush = [&] {
    if (bytes) touch_global(e, now, run, bytes, write);
    bytes = 0;
  };
  model::for_each_piece(m, coords, address & ~0x3ffu, [&](const model::BoxPiece& p) {
    if (!p.global) return;
    if (bytes && run + bytes == p.global) {
      bytes += p.bytes;
      return;
    }
    flush();
    run = p.global;
    bytes = p.bytes;
  });
  flush();
}

const TensorMap& map_at(Engine& e, const TensorMap* map) { return *reinterpret_cast<const TensorMap*>(e.host(map)); }

model::TensorMapFields decode(Engine& e, Thread& t, const TensorMap* map, int rank, here at, const char* word) {
  model::TensorMapFields m;
  if (!model::decode_tensor_map(map_at(e, map), m))
    e.fail("tma.map", fmt::format("{}: these 128 bytes are not a tensor map", word), &t, at);
  if (m.rank != rank)
    e.fail("tma.rank", fmt::format("{} with {} coordinates on a tensor map of rank {}", word, rank, m.rank), &t, at);
  const uint64_t version = e.map_versions[map];
  const auto [seen, first] = t.cta->seen_maps.try_emplace(map, 0);
  // Parameters of a launch are constant; what lies in device memory was written by somebody through the generic proxy.
  const bool unseen = first && e.options().check && e.buffer_of(map, sizeof(TensorMap));
  if (unseen || version != seen->second)
    e.fail("tma.map_stale",
           fmt::format("{}: the tensor map {}, and this CTA has not executed fence.proxy.tensormap acquire on it", word,
                       unseen ? "lies in device memory" : "was rewritten"),
           &t, at);
  return m;
}

// The same tensor where its bytes lie. One that is not in one buffer is looked up row by row.
model::TensorMapFields on_host(Engine& e, model::TensorMapFields m) {
  uint64_t last_row = 0;
  for (int d = 1; d < m.rank; ++d) last_row += m.dims[d] > 0 ? (m.dims[d] - 1) * m.strides[d] : 0;
  if (e.buffer_of(m.base, last_row + 1) != nullptr) {
    m.base = e.host(m.base);
    return m;
  }
  m.place = &e;
  m.host = [](const void* place, const void* address) { return static_cast<const Engine*>(place)->host(address); };
  return m;
}

// A map that the kernel may rewrite must not change before the copies that use it are complete.
void use_map(Engine& e, const TensorMap* map, uint32_t access) {
  const Buffer* b = e.options().check ? e.buffer_of(map, sizeof(TensorMap)) : nullptr;
  if (b && b->use != Buffer::Use::input) e.map_uses[map].push_back(access);
}

// A copy from global memory without multicast is for the executing CTA.
void check_own_cta(Engine& e, Thread& t, uint32_t dst, here at, const char* word) {
  if (dst >> kSharedRankShift != t.cta->rank)
    e.fail("cluster.rank",
           fmt::format("{}: the destination belongs to CTA rank {}, only a multicast reaches other CTAs", word,
                       dst >> kSharedRankShift),
           &t, at);
}

// A box begins at a multiple of 16 bytes in its row; an H200 ends in an illegal instruction otherwise.
void check_coordinate(Engine& e, Thread& t, const model::TensorMapFields& m, const int32_t* coords, here at,
                      const char* word) {
  const int bits = model::element_bits(m.type);
  if (int64_t(coords[0]) * bits % 128 != 0)
    e.fail("tma.alignment",
           fmt::format("{}: coordinate {} of elements of {} bits is not a multiple of 16 bytes", word, coords[0], bits),
           &t, at);
}

struct Destination {
  Cta* cta;
  Bar* bar;
  uint32_t access;
  int64_t generation;
  Issue issued;
};

std::vector<Destination> destinations(Engine& e, Thread& t, uint32_t dst, uint32_t bar, uint16_t mask, bool multicast,
                                      uint32_t bytes, uint32_t footprint, here at, const char* word,
                                      int cta_group = 1) {
  std::vector<Destination> out;
  Cluster& c = *t.cta->cluster;
  for (uint32_t r = 0; r < c.ctas.size(); ++r) {
    if (multicast ? !(mask >> r & 1) : r != dst >> kSharedRankShift) continue;
    Cta& cta = e.cta_at(t, r << kSharedRankShift, at, word);
    // Without multicast the barrier may be a peer's (pair mode); with it, it is at the same offset in each CTA, or,
    // with cta_group::2, in the CTA of each destination's pair whose rank has the parity of the barrier's.
    const uint32_t signalled = cta_group == 2 ? (r & ~1u) | (bar >> kSharedRankShift & 1u) : r;
    Cta& bar_cta = e.cta_at(t, multicast ? signalled << kSharedRankShift : bar, at, word);
    Bar& b = e.bar(bar_cta, bar & kSharedOffsetMask, &t, at, word);
    check_remote_ready(e, t, b, at, word);
    const Toucher now = async_access(e, t, word, at);
    touch_shared(e, cta, now, dst, footprint, true);
    if (&cta != t.cta) cta.remote.push_back({now.id, {}, &t, word, at});
    if (e.data) std::memset(cta.shared + (dst & kSharedOffsetMask), 0xff, footprint);  // poison until it lands
    b.in_flight_bytes += bytes;
    b.copiers.push_back(&t);
    out.push_back({&cta, &b, now.id, b.generation, e.issue(t)});
  }
  if (multicast && mask >> c.ctas.size())
    e.fail("cluster.rank",
           fmt::format("{}: mask {:#x} names CTAs outside the cluster of {}", word, mask, c.ctas.size()), &t, at);
  return out;
}

void land(Engine& e, const Destination& d, int64_t bytes, here at, const Thread& t, const char* word) {
  if (d.cta->alive == 0)
    e.fail("cluster.exited", fmt::format("{} of {} lands in CTA {}, which has exited", word, who(t), d.cta->id), &t,
           at);
  if (d.bar->generation != d.generation)
    e.fail("mbarrier.tx_phase",
           fmt::format("{} was issued for phase {} of {} but lands in phase {}: the phase completed without its bytes, "
                       "expect_tx announced too few",
                       word, d.generation, d.bar->name(), d.bar->generation),
           &t, at, d.bar->name());
  complete(e, d.access, {d.bar->channel, uint32_t(d.bar->generation + 1)});
  d.bar->completed_at = std::max(d.bar->completed_at, e.now());
  e.complete_tx(*d.bar, bytes, at, &d.issued);
}

}  // namespace

namespace detail {

namespace {

// What one copy brings: boxes of a map that follow each other in shared memory.
struct Boxes {
  std::array<std::array<int32_t, 5>, 4> corners = {};
  uint32_t count = 1;
  uint32_t pitch = 0;  // from one to the next
};
struct Load {
  const char* word;
  const char* call;  // by which a fault names it
  uint16_t mask = 0;
  bool multicast = false;
  int cta_group = 1;
};

void load_boxes(Thread& t, const Load& how, uint32_t dst, const TensorMap* map, const model::TensorMapFields& m,
                const Boxes& boxes, uint32_t bar, here at) {
  Engine& e = *t.cta->engine;
  const char* const word = how.word;
  e.word(t, e.timing.chip.tma_issue, at);
  Aim aim{bar, how.mask, how.multicast};
  int times = misaimed(t, how.call, dst, at, aim);
  check_shared_alignment(e, t, dst, 128, at, word);
  check_coordinate(e, t, m, boxes.corners[0].data(), at, word);
  check_own_cta(e, t, dst, at, word);
  const uint32_t bytes = boxes.count * model::box_bytes(m);  // what complete_tx counts
  const uint32_t footprint = (boxes.count - 1) * boxes.pitch + model::box_footprint(m);
  for (; times > 0; --times) {
    auto to = destinations(e, t, dst, aim.bar, aim.mask, how.multicast, bytes, footprint, at, word, how.cta_group);
    const Toucher reads{&t, Proxy::async, word, at, to.empty() ? 0 : to[0].access};
    for (uint32_t i = 0; i < boxes.count; ++i) touch_box_global(e, reads, m, boxes.corners[i].data(), dst, false);
    if (!to.empty()) use_map(e, map, to[0].access);
    const uint64_t begin = t.time;
    uint64_t due = 0;
    if (e.timed()) {
      double outside = 0;
      for (uint32_t i = 0; i < boxes.count; ++i) outside += ask_for_box(e, m, boxes.corners[i].data()) / boxes.count;
      const double extra = std::max(0.0, e.timing.chip.tma_outside - 1);
      due = load_done(e, t, bytes * (1 + extra * outside), to);
    }
    e.async(due, [&e, &t, m = on_host(e, m), boxes, dst, bytes, to, at, word, begin] {
      const int s = e.engine_span(t, "TMA", e.name_of(*t.cta, dst & kSharedOffsetMask), begin, e.now(), at);
      for (const Destination& d : to) {
        for (uint32_t i = 0; e.data && i < boxes.count; ++i)
          model::load_box(m, boxes.corners[i].data(), dst + i * boxes.pitch, d.cta->shared);
        d.bar->completing_span = s;
        land(e, d, bytes, at, t, word);
      }
    });
  }
  e.maybe_yield(t);
}

}  // namespace

void tma_load(uint32_t dst, const TensorMap* map, const int32_t* coords, int rank, uint32_t bar, uint16_t mask,
              bool multicast, int cta_group, CacheHint, here at) {
  Thread& t = Engine::self();
  const Load how{multicast ? "TMA load (multicast)" : "TMA load", "tma_load", mask, multicast, cta_group};
  const model::TensorMapFields m = decode(*t.cta->engine, t, map, rank, at, how.word);
  Boxes box;
  std::copy(coords, coords + rank, box.corners[0].begin());
  load_boxes(t, how, dst, map, m, box, bar, at);
}

void tma_gather4(uint32_t dst, const TensorMap* map, const int32_t* column_and_rows, uint32_t bar, int cta_group,
                 here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const Load how{.word = "TMA gather", .call = "tma_gather4", .cta_group = cta_group};
  const model::TensorMapFields m = decode(e, t, map, 2, at, how.word);
  if (e.launch().plan->arch != Arch::sm100)
    e.fail("tma.gather", "TMA gather: only Blackwell's TMA takes rows from a list", &t, at);
  if (m.box[1] != 1)
    e.fail("tma.gather", fmt::format("TMA gather: the boxes of its tensor map have one row, not {}", m.box[1]), &t, at);
  Boxes rows{.count = 4, .pitch = model::row_pitch(m)};
  for (size_t i = 0; i < rows.count; ++i) rows.corners[i] = {column_and_rows[0], column_and_rows[1 + i]};
  load_boxes(t, how, dst, map, m, rows, bar, at);
}

namespace {
void check_bulk_alignment(Engine& e, Thread& t, const void* p, uint32_t bytes, here at, const char* word) {
  if (bytes % 16 == 0 && reinterpret_cast<uintptr_t>(p) % 16 == 0) return;
  const std::string name = e.name_of_global(p, bytes);
  e.fail("tma.alignment", fmt::format("{} of {} bytes at {}: address and size are multiples of 16", word, bytes, name),
         &t, at, name);
}
}  // namespace

void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar, uint16_t mask, bool multicast, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "cp.async.bulk load";
  e.word(t, e.timing.chip.tma_issue, at);
  Aim aim{bar, mask, multicast};
  int times = misaimed(t, "bulk_load", dst, at, aim);
  check_bulk_alignment(e, t, src, bytes, at, word);
  check_shared_alignment(e, t, dst, 16, at, word);
  check_own_cta(e, t, dst, at, word);
  for (; times > 0; --times) {
    auto to = destinations(e, t, dst, aim.bar, aim.mask, multicast, bytes, bytes, at, word);
    if (!to.empty()) touch_global(e, {&t, Proxy::async, word, at, to[0].access}, src, bytes, false);
    const uint64_t begin = t.time;
    uint64_t due = 0;
    if (e.timed()) {
      e.timing.cached.ask(e.device_address(src), bytes);
      due = load_done(e, t, bytes, to);
    }
    e.async(due, [&e, &t, src = e.host(src), dst, bytes, to, at, word, begin] {
      const int s = e.engine_span(t, "TMA", e.name_of(*t.cta, dst & kSharedOffsetMask), begin, e.now(), at);
      for (const Destination& d : to) {
        d.bar->completing_span = s;
        std::memcpy(d.cta->shared + (dst & kSharedOffsetMask), src, bytes);
        land(e, d, bytes, at, t, word);
      }
    });
  }
  e.maybe_yield(t);
}

void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "cp.async.bulk to cluster";
  e.word(t, e.timing.chip.tma_issue, at);
  Aim aim{bar, 0, false};
  if (misaimed(t, "bulk_copy_to_cluster", dst, at, aim) == 0) return;
  dst = (aim.bar & ~kSharedOffsetMask) | (dst & kSharedOffsetMask);  // to another CTA together with the barrier
  bar = aim.bar;
  if (bytes % 16)
    e.fail("tma.alignment", fmt::format("{}: {} bytes, the size is a multiple of 16", word, bytes), &t, at);
  check_shared_alignment(e, t, src, 16, at, word);
  check_shared_alignment(e, t, dst, 16, at, word);
  if (dst >> kSharedRankShift != bar >> kSharedRankShift)
    e.fail("cluster.rank", fmt::format("{}: the barrier must be in the destination's CTA", word), &t, at);
  auto to = destinations(e, t, dst, bar, 0, false, bytes, bytes, at, word);
  touch_shared(e, *t.cta, {&t, Proxy::async, word, at, to[0].access}, src, bytes, false);
  const uint64_t due = e.timed() ? cluster_copy_done(e, t, bytes) : 0;
  e.async(due, [&e, &t, src, dst, bytes, to, at, word] {
    for (const Destination& d : to) {
      std::memcpy(d.cta->shared + (dst & kSharedOffsetMask), t.cta->shared + (src & kSharedOffsetMask), bytes);
      land(e, d, bytes, at, t, word);
    }
  });
  e.maybe_yield(t);
}

namespace {

void settle_bulk(Engine& e, Thread& t, const BulkOp& op) {
  if (op.group == 0) return;
  if (op.read_done && e.log[op.read_access].in_flight) complete(e, op.read_access, {t.bulk_read_channel, op.group});
  if (op.write_done && e.log[op.write_access].in_flight) complete(e, op.write_access, {t.bulk_write_channel, op.group});
}

// `write` gets the bytes that were read; it runs when the destination is written.
void start_bulk_store(Engine& e, Thread& t, uint32_t src, uint32_t bytes, Toucher reads, Toucher writes, here at,
                      std::function<void(const uint8_t*)> write) {
  if (!t.bulk_read_channel) {
    t.bulk_read_channel = t.cta->new_channel();
    t.bulk_write_channel = t.cta->new_channel();
  }
  auto op = std::make_shared<BulkOp>();
  op->read_access = reads.id;
  op->write_access = writes.id;
  t.bulk_ops.push_back(op);
  const uint64_t begin = t.time;
  const auto [read_due, write_due] = e.timed() ? store_done(e, t, bytes) : StoreDone{};
  Cta* cta = t.cta;
  e.async(read_due, [&e, &t, cta, op, src, bytes, write_due = write_due, begin, at, write = std::move(write)] {
    std::vector<uint8_t> staged;
    if (e.data) {
      staged.assign(cta->shared + (src & kSharedOffsetMask), cta->shared + (src & kSharedOffsetMask) + bytes);
    }
    op->read_done = true;
    settle_bulk(e, t, *op);
    t.bulk_last_span = e.engine_span(t, "TMA store", e.name_of(*cta, src & kSharedOffsetMask), begin, e.now(), at);
    e.wake(t, e.now());
    e.async(write_due, [&e, &t, op, write, staged = std::move(staged)] {
      if (e.data) write(staged.data());
      op->write_done = true;
      settle_bulk(e, t, *op);
      e.wake(t, e.now());
    });
  });
  e.maybe_yield(t);
}

}  // namespace

void tma_store(const TensorMap* map, const int32_t* coords, int rank, uint32_t src, bool reduce_add, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = reduce_add ? "TMA reduce" : "TMA store";
  model::TensorMapFields m = decode(e, t, map, rank, at, word);
  // An H200 stores whole units of 16 bytes: what follows the last element of a row in its unit is overwritten.
  if (const uint64_t unit = 128 / uint64_t(model::element_bits(m.type)); !reduce_add) {
    m.dims[0] = (m.dims[0] + unit - 1) / unit * unit;
  }
  e.word(t, e.timing.chip.tma_store_issue, at);
  if (const Fault* f = fault_at(t, {"tma_store", at}, [&] { return e.name_of(*t.cta, src & kSharedOffsetMask); }))
    if (f->action == Fault::Action::drop) return;
  check_shared_alignment(e, t, src, 128, at, word);
  check_coordinate(e, t, m, coords, at, word);
  if (reduce_add && !model::can_reduce_add(m.type))
    e.fail("tma.reduce", fmt::format("{}: this element type cannot be added", word), &t, at);
  const uint32_t bytes = model::box_footprint(m);
  const Toucher reads = async_access(e, t, word, at), writes = async_access(e, t, word, at);
  e.log[writes.id].atomic = reduce_add;
  touch_shared(e, *t.cta, reads, src, bytes, false);
  touch_box_global(e, writes, m, coords, src, true);
  use_map(e, map, writes.id);
  std::array<int32_t, 5> c{};
  std::copy(coords, coords + rank, c.begin());
  start_bulk_store(e, t, src, bytes, reads, writes, at, [m = on_host(e, m), c, src, reduce_add](const uint8_t* staged) {
    const uint8_t* window = staged - (src & kSharedOffsetMask);
    if (reduce_add) {
      model::reduce_add_box(m, c.data(), src, window);
    } else {
      model::store_box(m, c.data(), src, window);
    }
  });
}

void bulk_store(void* dst, uint32_t src, uint32_t bytes, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "cp.async.bulk store";
  e.word(t, e.timing.chip.tma_store_issue, at);
  check_bulk_alignment(e, t, dst, bytes, at, word);
  check_shared_alignment(e, t, src, 16, at, word);
  const Toucher reads = async_access(e, t, word, at), writes = async_access(e, t, word, at);
  touch_shared(e, *t.cta, reads, src, bytes, false);
  touch_global(e, writes, dst, bytes, true);
  start_bulk_store(e, t, src, bytes, reads, writes, at,
                   [dst = e.host(dst), bytes](const uint8_t* staged) { std::memcpy(dst, staged, bytes); });
}

void bulk_wait(int pending, bool read_only, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f =
          fault_at(t, {"bulk_wait", at, able({Fault::Action::add}) | able(!read_only, Fault::Action::scope)})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) pending = int(f->value);
    if (f->action == Fault::Action::add) pending += int(f->value);
    if (f->action == Fault::Action::scope) read_only = true;
  }
  const int64_t upto = int64_t(t.bulk_groups) - pending;
  auto unfinished = [&] {
    for (const auto& op : t.bulk_ops)
      if (op->group && int64_t(op->group) <= upto && !(read_only ? op->read_done : op->write_done)) return true;
    return false;
  };
  while (unfinished()) e.block(t, Wait::bulk, &t, at);
  waited(t, {"cp.async.bulk.wait_group", at, t.cta});
  if (upto <= 0) return;
  if (e.options().check) {
    auto& hb = t.view[kHb].base;
    hb = e.clocks.raise(hb, t.bulk_read_channel, uint32_t(upto));
    if (!read_only) hb = e.clocks.raise(hb, t.bulk_write_channel, uint32_t(upto));
  }
  if (!read_only) std::erase_if(t.bulk_ops, [&](const auto& op) { return op->group && int64_t(op->group) <= upto; });
}

}  // namespace detail

void bulk_commit(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "bulk_commit", at)) return;
  ++t.bulk_groups;
  for (const auto& op : t.bulk_ops)
    if (op->group == 0) {
      op->group = t.bulk_groups;
      simulator::Engine& engine = e;
      detail::settle_bulk(engine, t, *op);
    }
}

void tma_prefetch_map(const TensorMap* map, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  model::TensorMapFields m;
  if (!model::decode_tensor_map(map_at(e, map), m))
    e.fail("tma.map", "prefetch.tensormap: these 128 bytes are not a tensor map", &t, at);
}

}  // namespace warpwright::inline WW_WORLD::machine
