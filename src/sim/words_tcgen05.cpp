// tcgen05: allocation of tensor memory and the matrix unit.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "fault/fault.h"
#include "model.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace {

void use_group(Engine& e, Thread& t, int cta_group, here at, const char* word) {
  if (e.launch().plan->arch != Arch::sm100)
    e.fail("tcgen05.arch", fmt::format("{} exists on sm_100 only", word), &t, at);
  if (t.cta->cta_group == 0) t.cta->cta_group = cta_group;
  if (t.cta->cta_group != cta_group)
    e.fail(
        "tcgen05.cta_group",
        fmt::format("{} with cta_group::{} in a kernel that has used cta_group::{}", word, cta_group, t.cta->cta_group),
        &t, at);
  if (cta_group == 2) {
    const uint32_t peer = t.cta->rank ^ 1;
    if (peer >= t.cta->cluster->ctas.size())
      e.fail("tcgen05.peer", fmt::format("{} with cta_group::2 needs a cluster of pairs", word), &t, at);
    Cta& p = *t.cta->cluster->ctas[peer];
    if (p.alive == 0)
      e.fail("cluster.exited", fmt::format("{} with cta_group::2 when the peer CTA has exited", word), &t, at);
  }
}

// Something of the peer must be known: otherwise nothing proves that it has started.
bool knows_peer(const Thread& t) {
  const Cta& p = *t.cta->cluster->ctas[t.cta->rank ^ 1];
  for (const auto& other : p.threads)
    if (t.view[kHb].knows(t.channel, {other->channel, 1})) return true;
  return false;
}

// Allocation words are for whole warps: no lane may have exited.
void whole_warp(Engine& e, Thread& t, here at, const char* word) {
  if (t.warp->live != 0xffff'ffffu)
    e.fail("warp.mask", fmt::format("{} by a warp of which lanes have exited", word), &t, at);
}

bool knows_peer_allocation(const Warp& w, uint32_t number) {
  const Cta& p = *w.cta->cluster->ctas[w.cta->rank ^ 1];
  if (number >= p.allocated.size()) return false;
  for (const Thread* t : w.lanes)
    if (t && t->view[kHb].knows(t->channel, p.allocated[number].when)) return true;
  return false;
}

// MMAs and copies of a pair touch the same columns in both CTAs, which allocate in the same order. Columns without an
// allocation are left to touch_tmem.
void after_peer_allocation(Engine& e, Thread& t, uint32_t address, here at, const char* word) {
  if (!e.options().check) return;
  const Cta& peer = *t.cta->cluster->ctas[t.cta->rank ^ 1];
  const uint32_t column = address & 0xffff;
  for (const TmemAllocation& own : t.cta->allocations) {
    if (column < own.column || column >= own.column + own.columns) continue;
    if (own.number < peer.allocated.size() && t.view[kHb].knows(t.channel, peer.allocated[own.number].when)) return;
    e.fail(
        "tmem.peer",
        fmt::format("{} with cta_group::2, and nothing orders it after the peer CTA's tcgen05.alloc of columns {}..{} "
                    "(a barrier between the warps that allocate is missing)",
                    word, own.column, own.column + own.columns - 1),
        &t, at);
  }
}

uint32_t columns_in_use(const Cta& c) {
  uint32_t n = 0;
  for (const TmemAllocation& a : c.allocations) n += a.columns;
  return n;
}

}  // namespace

namespace detail {

void tcgen05_alloc(uint32_t slot, uint32_t columns, int cta_group, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Cta& cta = *t.cta;
  e.word(t, 100, at);
  if (const Fault* f = fault_at(t, {"tcgen05_alloc", at})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) columns = uint32_t(f->value);
  }
  rendezvous(e, t, "tcgen05.alloc", 0xffff'ffffu, Meeting::together, at, [&] {
    whole_warp(e, t, at, "tcgen05.alloc");
    use_group(e, t, cta_group, at, "tcgen05.alloc");
    if (columns < 32 || columns > kTmemColumns || (columns & (columns - 1)))
      e.fail("tmem.columns",
             fmt::format("tcgen05.alloc of {} columns: a power of two from 32 to 512 is legal", columns), &t, at);
    if (!cta.permit) e.fail("tmem.permit", "tcgen05.alloc after tcgen05.relinquish_alloc_permit", &t, at);
    if (cta.last_alloc_columns && columns > cta.last_alloc_columns)
      e.fail("tmem.growth",
             fmt::format("tcgen05.alloc of {} columns after one of {}: allocations of a CTA must not grow", columns,
                         cta.last_alloc_columns),
             &t, at);
    if (cta_group == 2 && e.options().check && !knows_peer(t))
      e.fail("tmem.peer",
             "tcgen05.alloc with cta_group::2, and nothing proves that the peer CTA has started (a cluster barrier is "
             "missing)",
             &t, at);
    if (cta_group == 2) {
      const Cta& peer = *cta.cluster->ctas[cta.rank ^ 1];
      if (peer.allocated.size() > cta.allocated.size() && peer.allocated[cta.allocated.size()].columns != columns)
        e.fail("tmem.columns",
               fmt::format("tcgen05.alloc of {} columns with cta_group::2 where the peer CTA has asked for {}", columns,
                           peer.allocated[cta.allocated.size()].columns),
               &t, at);
    }
    if (columns_in_use(cta) + columns > kTmemColumns)
      e.fail("tmem.capacity",
             fmt::format("tcgen05.alloc of {} columns when {} of 512 are in use: it blocks for ever", columns,
                         columns_in_use(cta)),
             &t, at);
    uint32_t column = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const TmemAllocation& a : cta.allocations)
        if (column < a.column + a.columns && a.column < column + columns) column = a.column + a.columns, moved = true;
    }
    cta.allocations.push_back({column, columns, cta_group, at, uint32_t(cta.allocated.size())});
    cta.allocated.push_back({{t.warp->lanes[0]->channel, t.warp->lanes[0]->epoch}, columns});
    cta.last_alloc_columns = columns;
    touch_shared(e, cta, own_access(e, *t.warp->lanes[0], "tcgen05.alloc", at), slot, 4, true);
    std::memcpy(cta.shared + (slot & kSharedOffsetMask), &column, 4);
  });
}

void tcgen05_dealloc(uint32_t address, uint32_t columns, int cta_group, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Cta& cta = *t.cta;
  e.word(t, 20, at);
  int times = 1;
  if (const Fault* f = fault_at(t, {"tcgen05_dealloc", at, able({Fault::Action::duplicate})})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::duplicate) times = 2;
  }
  for (; times > 0; --times) {
    rendezvous(e, t, "tcgen05.dealloc", 0xffff'ffffu, Meeting::together, at, [&] {
      whole_warp(e, t, at, "tcgen05.dealloc");
      use_group(e, t, cta_group, at, "tcgen05.dealloc");
      auto it = std::find_if(cta.allocations.begin(), cta.allocations.end(),
                             [&](const TmemAllocation& a) { return a.column == (address & 0xffff); });
      if (it == cta.allocations.end() || it->columns != columns)
        e.fail("tmem.free",
               fmt::format("tcgen05.dealloc of {} columns at {}: no such allocation (freed twice, or another size)",
                           columns, address & 0xffff),
               &t, at);
      if (cta_group == 2 && e.options().check && !knows_peer_allocation(*t.warp, it->number))
        e.fail("tmem.peer",
               "tcgen05.dealloc with cta_group::2, and nothing orders it after the peer CTA's tcgen05.alloc (a cluster "
               "barrier is missing)",
               &t, at);
      // Freeing is a write: everything that used the columns must be over.
      const Toucher now{&t, Proxy::tcgen, "tcgen05.dealloc", at,
                        async_access(e, t, "tcgen05.dealloc", at, Proxy::tcgen).id};
      touch_tmem(e, cta, now, 0, 128, it->column, it->columns, true);
      for (uint32_t l = 0; l < 8; ++l) cta.tmem_shadow.forget(l * kTmemColumns + it->column, it->columns);
      for (uint32_t l = 0; l < 128; ++l)
        std::fill_n(cta.tmem.begin() + l * kTmemColumns + it->column, it->columns, 0xffff'ffffu);
      cta.allocations.erase(it);
      t.warp->collective.out[0] = ++cta.deallocations;
      if (cta_group == 2) e.wake_all(cta.cluster->ctas[cta.rank ^ 1]->dealloc_waiters, t.time);
    });
    // PTX 9.7.16.7.1: with cta_group::2 it may block until the peer has come; it orders nothing, so no clocks are
    // exchanged.
    const uint32_t number = t.warp->collective.out[0];
    while (cta_group == 2 && cta.cluster->ctas[cta.rank ^ 1]->deallocations < number) {
      cta.dealloc_waiters.push_back(&t);
      e.block(t, Wait::tmem, &cta, at);
    }
  }
}

void tcgen05_relinquish(int cta_group, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, 20, at);
  rendezvous(e, t, "tcgen05.relinquish_alloc_permit", 0xffff'ffffu, Meeting::together, at, [&] {
    whole_warp(e, t, at, "tcgen05.relinquish_alloc_permit");
    use_group(e, t, cta_group, at, "tcgen05.relinquish_alloc_permit");
    t.cta->permit = false;
  });
}

namespace {

// Scales apply to blocks of K: one of 32 values for mxf8f6f4 (scale_vec::1X), two for mxf4 (2X), four of 16 for
// mxf4nvf4 (4X, the only form that the words have).
int scale_block(MmaKind kind) { return kind == MmaKind::mxf4nvf4 ? 16 : 32; }
// Layout B: the right half of N lies below the left one.
bool halves_of_n(const Tcgen05Mma& op, const InstrDesc& d) { return op.cta_group == 2 && d.m == 128; }

// PTX 9.7.16.10.7: scale factors stand in each quarter of the lanes that uses them. So does A in layout B.
void check_replicas(Engine& e, Thread& t, const Tcgen05Mma& op, const InstrDesc& d, const Cta& cta, int k, here at) {
  const auto check = [&](const char* what, const std::optional<model::TmemCell>& unequal) {
    if (unequal)
      e.fail("tcgen05.replica",
             fmt::format("tcgen05.mma reads {} at lane {} column {} of CTA {}, but the copy in another quarter of the "
                         "lanes differs: each quarter reads its own",
                         what, unequal->lane, unequal->column, cta.id),
             &t, at);
  };
  const int group = op.cta_group;
  if (is_block_scaled(d.kind)) {
    const int blocks = k / scale_block(d.kind);
    const bool halves = halves_of_n(op, d);
    check("scale factors of A", model::unequal_scale(cta.tmem.data(), op.scale_a, d.m / group, blocks, d.a_scale_id));
    check("scale factors of B",
          model::unequal_scale(cta.tmem.data(), op.scale_b, halves ? d.n / 2 : d.n, blocks, d.b_scale_id, halves));
  }
  if (op.a_in_tmem && halves_of_n(op, d))
    check("A", model::unequal_rows(cta.tmem.data(), uint32_t(op.a_desc), k * bits(d.a) / 32));
}

void execute(const Tcgen05Mma& op, const InstrDesc& d, const std::vector<Cta*>& ctas, int k) {
  thread_local std::vector<float> a, b;
  const int group = int(ctas.size());
  const int rows = d.m / group, cols = d.n / group;
  const auto packing = is_packed_fp4(d.kind) ? model::Packing::dense : model::Packing::padded;
  b.resize(size_t(d.n * k));
  for (int c = 0; c < group; ++c)
    model::gather_operand(decode_sm100(op.b_desc), Arch::sm100, d.b, d.b_major, cols, k, ctas[size_t(c)]->shared,
                          b.data() + size_t(c * cols * k), packing);
  for (int c = 0; c < group; ++c) {
    Cta& cta = *ctas[size_t(c)];
    a.resize(size_t(rows * k));
    if (op.a_in_tmem) {
      model::gather_tmem_operand(d.a, d.m, group, k, cta.tmem.data(), uint32_t(op.a_desc), a.data());
    } else {
      model::gather_operand(decode_sm100(op.a_desc), Arch::sm100, d.a, d.a_major, rows, k, cta.shared, a.data(),
                            packing);
    }
    if (d.negate_a)
      for (float& x : a) x = -x;
    if (is_block_scaled(d.kind)) {
      const int block = scale_block(d.kind);
      for (int m = 0; m < rows; ++m)
        for (int j = 0; j < k; ++j)
          a[size_t(m * k + j)] *= model::block_scale(d.scale, cta.tmem.data(), op.scale_a, m, j / block, d.a_scale_id);
      std::vector<float> scaled(b);
      const int half = halves_of_n(op, d) ? d.n / 2 : d.n;
      for (int n = 0; n < d.n; ++n)
        for (int j = 0; j < k; ++j)
          scaled[size_t(n * k + j)] *= model::block_scale(d.scale, cta.tmem.data(), op.scale_b, n % half, j / block,
                                                          d.b_scale_id, 2 * (n / half));
      model::multiply_tmem(d.m, d.n, group, k, a.data(), scaled.data(), cta.tmem.data(), op.d, op.accumulate);
    } else {
      model::multiply_tmem(d.m, d.n, group, k, a.data(), b.data(), cta.tmem.data(), op.d, op.accumulate);
    }
  }
}

}  // namespace

void tcgen05_mma(const Tcgen05Mma& op, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.mma_issue, at);
  use_group(e, t, op.cta_group, at, "tcgen05.mma");
  InstrDesc d;
  if (!decode_idesc(op.kind, op.idesc, d))
    e.fail("tcgen05.idesc",
           fmt::format("tcgen05.mma: {:#010x} is not an instruction descriptor of this kind", op.idesc), &t, at);
  if (const char* why = idesc_error(d, op.cta_group))
    e.fail("tcgen05.idesc", fmt::format("tcgen05.mma: {}", why), &t, at);
  if (op.kind == MmaKind::mxf4nvf4 && (d.a_scale_id | d.b_scale_id) != 0)
    e.fail("tcgen05.idesc", "tcgen05.mma: with scale_vec::4X a scale factor id is 0", &t, at);
  const int k = is_packed_fp4(op.kind) ? 64 : 256 / (bits(d.a) < 8 ? 8 : bits(d.a));
  std::vector<Cta*> ctas{t.cta};
  if (op.cta_group == 2) {
    if (t.cta->rank & 1)
      e.fail("tcgen05.leader", "tcgen05.mma with cta_group::2 is issued by the even CTA of the pair", &t, at);
    ctas.push_back(t.cta->cluster->ctas[t.cta->rank ^ 1]);
    after_peer_allocation(e, t, op.d, at, "tcgen05.mma");
    if (op.a_in_tmem) after_peer_allocation(e, t, uint32_t(op.a_desc), at, "tcgen05.mma");
    if (is_block_scaled(d.kind)) {
      after_peer_allocation(e, t, op.scale_a, at, "tcgen05.mma");
      after_peer_allocation(e, t, op.scale_b, at, "tcgen05.mma");
    }
  }
  if (!t.tcgen_channel) t.tcgen_channel = t.cta->new_channel();
  Toucher smem = async_access(e, t, "tcgen05.mma", at, Proxy::async, Pipe::none);
  smem.reads_own_sm = true;
  const Toucher tmem = async_access(e, t, "tcgen05.mma", at, Proxy::tcgen, Pipe::mma);
  e.log[tmem.id].accumulator = uint64_t(op.d) | uint64_t(d.m) << 32 | uint64_t(d.n) << 48;
  const uint32_t seq = ++t.tcgen_seq;
  thread_local std::vector<model::Piece> pieces;
  const auto packing = is_packed_fp4(d.kind) ? model::Packing::dense : model::Packing::padded;
  for (const uint64_t desc : {op.b_desc, op.a_in_tmem ? op.b_desc : op.a_desc})
    if (const char* why = desc_error_sm100(desc))
      e.fail("tcgen05.descriptor", fmt::format("tcgen05.mma: {}", why), &t, at);
  auto touch = [&](Cta& c, uint64_t desc, DType type, Major major, int mn) {
    pieces.clear();
    model::operand_pieces(decode_sm100(desc), Arch::sm100, type, major, mn, k, pieces, packing);
    for (const model::Piece& p : pieces) touch_shared(e, c, smem, p.address, p.bytes, false);
  };
  const int group = int(ctas.size());
  const bool halves = halves_of_n(op, d);
  // Layout F uses sixteen lanes of each quarter, the upper or the lower ones; the others start at lane 0.
  const bool sixteen_lanes = group == 1 && d.m == 64;
  const uint32_t first_lane = op.d >> 16;
  if (first_lane != 0 && !(sixteen_lanes && first_lane == 16))
    e.fail("tmem.window",
           fmt::format("tcgen05.mma: D at lane {}, where an accumulator of M = {} starts at lane 0{}", first_lane, d.m,
                       sixteen_lanes ? " or 16" : ""),
           &t, at);
  for (Cta* c : ctas) {
    if (c != t.cta) c->remote.push_back({smem.id, {}, &t, "tcgen05.mma", at});
    // Where D does not fit, the shape is wrong, and so is what it reads.
    const uint32_t columns = uint32_t(halves ? d.n / 2 : d.n);
    check_columns(e, *c, tmem, op.d & 0xffff, columns, true);
    touch(*c, op.b_desc, d.b, d.b_major, d.n / group);
    if (op.a_in_tmem) {
      touch_tmem(e, *c, tmem, 0, 128, uint32_t(op.a_desc) & 0xffff, uint32_t(k * bits(d.a) / 32), false);
    } else {
      touch(*c, op.a_desc, d.a, d.a_major, d.m / group);
    }
    if (is_block_scaled(d.kind)) {
      touch_tmem(e, *c, tmem, 0, 128, op.scale_a & 0xffff, uint32_t(std::max(1, d.m / group / 32)), false);
      touch_tmem(e, *c, tmem, 0, 128, op.scale_b & 0xffff, uint32_t(((halves ? d.n / 2 : d.n) + 31) / 32), false);
    }
    for (uint32_t lane = first_lane; lane < 128; lane += sixteen_lanes ? 32 : 128) {
      const uint32_t lanes = sixteen_lanes ? 16 : 128;
      if (op.accumulate) touch_tmem(e, *c, tmem, lane, lanes, op.d & 0xffff, columns, false);
      touch_tmem(e, *c, tmem, lane, lanes, op.d & 0xffff, columns, true);
    }
  }
  uint64_t due = 0, begin = t.time;
  if (e.timed()) {
    // Half as many elements of twice the width. Only the packed kinds pass four bits as such.
    const int width = is_packed_fp4(d.kind) ? 4 : std::max({8, bits(d.a), bits(d.b)});
    const uint64_t rate = e.timing.chip.mma_flop_per_cycle * uint64_t(group) * 16;
    const uint64_t cycles = 2ull * uint64_t(d.m) * uint64_t(d.n) * uint64_t(k) * uint64_t(width) / rate;
    begin = std::max(t.time, t.cta->tensor.free_at);
    due = t.cta->tensor.serve(t.time, cycles) + e.timing.chip.mma_tail;
    e.stats.tensor_busy_cycles += cycles;
  }
  const Channel channel = t.tcgen_channel;
  e.async(
      due,
      [&e, &t, op, d, ctas, k, smem, tmem, channel, seq, begin, at] {
        if (e.options().check)
          for (const Cta* c : ctas) check_replicas(e, t, op, d, *c, k, at);
        execute(op, d, ctas, k);
        t.tcgen_last_span =
            e.engine_span(t, "tensor core", fmt::format("tcgen05.mma m{}n{}k{}", d.m, d.n, k), begin, e.now(), at);
        complete(e, smem.id, {channel, seq});
        complete(e, tmem.id, {channel, seq});
      },
      &t.tcgen_last_due);
  e.maybe_yield(t);
}

void tcgen05_commit(uint32_t bar, uint16_t mask, bool multicast, int cta_group, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  const char* word = "tcgen05.commit";
  e.word(t, e.timing.chip.mma_issue, at);
  use_group(e, t, cta_group, at, word);
  struct To {
    Bar* bar;
    uint32_t access;  // in the log, for an arrival at another CTA, which must not exit before it
  };
  std::vector<To> to;
  Cluster& c = *t.cta->cluster;
  bool plain_arrive = false;  // a fault: it signals at issue, not at completion
  Aim aim{bar, mask, multicast};
  int times = misaimed(t, "tcgen05_commit", bar, at, aim, &plain_arrive);
  if (times == 0) return;
  bar = aim.bar;
  mask = aim.mask;
  for (uint32_t r = 0; r < c.ctas.size(); ++r) {
    if (multicast ? !(mask >> r & 1) : r != bar >> kSharedRankShift) continue;
    Cta& cta = e.cta_at(t, r << kSharedRankShift, at, word);
    Bar& b = e.bar(cta, bar & kSharedOffsetMask, &t, at, word);
    check_remote_ready(e, t, b, at, word);
    to.push_back({&b, &cta == t.cta ? 0 : async_access(e, t, word, at).id});
    // Neither its issue nor its arrival may come to a CTA that has left.
    if (&cta != t.cta) {
      cta.remote.push_back({0, {t.channel, t.epoch}, &t, word, at});
      cta.remote.push_back({to.back().access, {}, &t, word, at});
    }
  }
  const Channel channel = t.tcgen_channel;
  const uint32_t seq = t.tcgen_seq;
  // The MMAs were issued after whatever this thread had seen complete: whoever learns they are done learns that too.
  const View seen = t.view[kHb];
  auto signal = [&e, &t, to, channel, seq, at, word, plain_arrive, seen, issued = e.issue(t)] {
    for (const auto& [b, access] : to) {
      if (b->cta->alive == 0)
        e.fail("cluster.exited", fmt::format("{} arrives in CTA {}, which has exited", word, b->cta->id), &t, at);
      if (e.options().check && channel && !plain_arrive) {
        b->collecting.add(kHb, seen, t.channel, e.clocks, e.launch().threads);
        b->collecting.raise(kHb, channel, seq, e.clocks);
        b->collecting.raise(kTcgen, channel, seq, e.clocks);
      }
      if (access) complete(e, access, {b->channel, uint32_t(b->generation + 1)});
      b->completed_at = std::max(b->completed_at, e.now());
      e.arrive(*b, 1, {&t, at, word, true}, &issued);
    }
  };
  for (; times > 0; --times) {
    if (plain_arrive) {
      signal();
    } else {
      e.async(e.timed() ? t.time : 0, signal, &t.tcgen_last_due);
    }
  }
  e.maybe_yield(t);
}

void tcgen05_cp(TmemCopy shape, uint32_t dst, uint64_t src_desc, int cta_group, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.mma_issue, at);
  use_group(e, t, cta_group, at, "tcgen05.cp");
  if (const char* why = desc_error_sm100(src_desc))
    e.fail("tcgen05.descriptor", fmt::format("tcgen05.cp: {}", why), &t, at);
  if (!t.tcgen_channel) t.tcgen_channel = t.cta->new_channel();
  std::vector<Cta*> ctas{t.cta};
  if (cta_group == 2) {
    ctas.push_back(t.cta->cluster->ctas[t.cta->rank ^ 1]);
    after_peer_allocation(e, t, dst, at, "tcgen05.cp");
  }
  Toucher smem = async_access(e, t, "tcgen05.cp", at, Proxy::async, Pipe::none);
  smem.reads_own_sm = true;
  const Toucher tmem = async_access(e, t, "tcgen05.cp", at, Proxy::tcgen, Pipe::copy);
  const uint32_t seq = ++t.tcgen_seq;
  const MatrixDesc desc = decode_sm100(src_desc);
  for (Cta* c : ctas) {
    std::vector<model::Piece> touched;
    std::vector<model::TmemCell> written;
    thread_local std::vector<uint32_t> scratch(c->tmem.size());  // the values do not matter here
    model::tcgen05_cp(int(shape), desc, c->shared, dst, scratch.data(), &touched, &written);
    for (const model::Piece& p : touched) touch_shared(e, *c, smem, p.address, p.bytes, false);
    for (const model::TmemCell& w : written)
      if (w.lane % 16 == 0) touch_tmem(e, *c, tmem, uint32_t(w.lane), 16, uint32_t(w.column), 1, true);
    if (c != t.cta) c->remote.push_back({smem.id, {}, &t, "tcgen05.cp", at});
  }
  const Channel channel = t.tcgen_channel;
  e.async(
      e.timed() ? t.cta->tensor.serve(t.time, 32) : 0,
      [&e, ctas, shape, desc, dst, smem, tmem, channel, seq] {
        for (Cta* c : ctas) model::tcgen05_cp(int(shape), desc, c->shared, dst, c->tmem.data(), nullptr, nullptr);
        complete(e, smem.id, {channel, seq});
        complete(e, tmem.id, {channel, seq});
      },
      &t.tcgen_last_due);
  e.maybe_yield(t);
}

}  // namespace detail
}  // namespace warpwright::inline WW_WORLD::machine
