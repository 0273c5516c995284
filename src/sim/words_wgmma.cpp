// wgmma: four warps issue, the operation reads shared memory and owns registers until a wait covers it. Also ldmatrix
// and stmatrix.
#include <algorithm>
#include <vector>

#include "fault/fault.h"
#include "model.h"
#include "words.h"

namespace warpwright::inline WW_WORLD::machine {
using namespace simulator;

namespace {

Warpgroup& group_of(Thread& t) { return *t.cta->warpgroups[t.index / 128]; }

void settle(Engine& e, Warpgroup& g, simulator::WgmmaOp& op) {
  if (op.landed && op.group && e.log[op.access].in_flight) complete(e, op.access, {g.channel, op.group});
}

void execute(Engine& e, Warpgroup& g, simulator::WgmmaOp& op) {
  if (!e.data) {
    op.landed = true;
    settle(e, g, op);
    return;
  }
  thread_local std::vector<float> a, b;
  const int n = op.op.n, k = op.op.k;
  a.resize(size_t(64 * k));
  b.resize(size_t(n * k));
  if (op.from_registers) {
    model::gather_a_fragment(op.op.a, op.a_regs, a.data());
  } else {
    model::gather_operand(decode_sm90(op.a_desc), Arch::sm90, op.op.a, op.op.a_major, 64, k, g.cta->shared, a.data());
  }
  model::gather_operand(decode_sm90(op.b_desc), Arch::sm90, op.op.b, op.op.b_major, n, k, g.cta->shared, b.data());
  model::multiply_fragments(n, k, a.data(), b.data(), op.acc, op.accumulate);
  op.landed = true;
  settle(e, g, op);
}

// Called by all lanes of a warp.
template <class Finish>
void issue_together(Engine& e, Thread& t, const char* word, here at, Finish&& finish) {
  if (e.meets) {
    rendezvous(e, t, word, 0xffff'ffffu, Meeting::together, at, finish);
  } else if (t.lane() == 31) {
    finish();
  }
}

// All four warps have issued it.
void start(Engine& e, Thread& t, Warpgroup& g, uint64_t number) {
  simulator::WgmmaOp& op = g.ops[size_t(number - g.first_op)];
  const Toucher now = async_access(e, t, "wgmma.mma_async", op.at);
  op.access = now.id;
  thread_local std::vector<model::Piece> pieces;
  auto touch = [&](uint64_t desc, DType type, Major major, int mn) {
    if (const char* why = desc_error_sm90(desc)) e.fail("wgmma.descriptor", fmt::format("wgmma: {}", why), &t, op.at);
    pieces.clear();
    model::operand_pieces(decode_sm90(desc), Arch::sm90, type, major, mn, op.op.k, pieces);
    for (const model::Piece& p : pieces) touch_shared(e, *t.cta, now, p.address, p.bytes, false);
  };
  if (!op.from_registers && e.data) touch(op.a_desc, op.op.a, op.op.a_major, 64);
  if (e.data) touch(op.b_desc, op.op.b, op.op.b_major, op.op.n);
  uint64_t due = 0;
  if (e.timed()) {
    const uint64_t rate = e.timing.chip.mma_flop_per_cycle * uint64_t(16 / bits(op.op.a) < 1 ? 1 : 16 / bits(op.op.a));
    const uint64_t multiplying = (2ull * 64 * uint64_t(op.op.n) * uint64_t(op.op.k) + rate - 1) / rate;
    const uint64_t lines = uint64_t(op.op.n) + (op.from_registers ? 0 : 64);
    const uint64_t reading = lines * uint64_t(op.op.k * bits(op.op.a)) / 8 / e.timing.chip.mma_bytes_per_cycle;
    const uint64_t cycles = std::max(multiplying, reading);
    op.begin = std::max(t.time, t.cta->tensor.free_at);
    op.end = t.cta->tensor.serve(t.time, cycles);
    e.stats.tensor_busy_cycles += cycles;
    due = op.end + e.timing.chip.mma_tail;
  }
  e.async(
      due,
      [&e, &g, &t, number] {
        simulator::WgmmaOp& landed = g.ops[size_t(number - g.first_op)];
        g.last_span =
            e.engine_span(t, "tensor core", fmt::format("wgmma m64n{}k{} wg{}", landed.op.n, landed.op.k, g.index),
                          landed.begin, landed.end, landed.at);
        execute(e, g, landed);
        g.landed_ops = number + 1;
        e.wake_all(g.waiters, e.now());
      },
      &g.last_due);
}

}  // namespace

namespace detail {

FragmentState::FragmentState() { touched_at = Engine::self().wgmma_fences; }

namespace {
bool is_set(const FragmentState& s, int i) { return s.used_by != 0 || (s.set[i / 64] >> i % 64 & 1) != 0; }
}  // namespace

void fragment_read(const FragmentState& s, int i, here at) {
  Thread& t = Engine::self();
  if (Engine& e = *t.cta->engine; !is_set(s, i) && e.data && e.options().check)
    e.fail("uninitialised.register",
           fmt::format("register {} of an accumulator is read before anything was written "
                       "there",
                       i),
           &t, at);
  t.sums_read += t.cta->engine->timed();
  if (s.used_by > t.warp->wgmma_completed)
    t.cta->engine->fail("wgmma.register",
                        "an accumulator is read while a wgmma that owns it is not covered by a wgmma.wait_group", &t,
                        at);
}

void fragment_write(FragmentState& s, int i, here at) {
  Thread& t = Engine::self();
  s.set[i / 64] |= uint64_t(1) << i % 64;
  if (s.used_by > t.warp->wgmma_completed)
    t.cta->engine->fail("wgmma.register",
                        "a register of a wgmma in flight is overwritten before a wgmma.wait_group covers it", &t, at);
  s.touched_at = t.wgmma_fences;
}

void fragment_gone(const FragmentState& s) {
  Thread& t = Engine::self();
  if (t.cta->engine->dying || s.used_by <= t.warp->wgmma_completed) return;
  // A destructor must not throw: note it, the engine stops at the next word.
  t.orphaned_fragment = true;
}

void wgmma(const WgmmaOp& shape, float* acc, FragmentState& acc_state, const uint32_t* a_regs, FragmentState* a_state,
           uint64_t a_desc, uint64_t b_desc, bool accumulate, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  e.word(t, e.timing.chip.mma_issue, at);
  if (!e.meets && t.lane() != 31) return;
  Warpgroup& g = group_of(t);
  const uint64_t number = w.wgmma_issued;
  if (acc_state.touched_at >= t.wgmma_fences || (a_state && a_state->touched_at >= t.wgmma_fences))
    e.fail("wgmma.fence", "wgmma.mma_async uses registers that were touched since the last wgmma.fence", &t, at);
  const auto check_set = [&](const FragmentState& s, int registers, const char* what) {
    for (int i = 0; i < registers; ++i)
      if (!is_set(s, i))
        e.fail("uninitialised.register", fmt::format("wgmma.mma_async {} register {} has never been written", what, i),
               &t, at);
  };
  if (e.data && e.options().check && accumulate && acc_state.used_by == 0)
    check_set(acc_state, shape.n / 2, "adds to an accumulator whose");
  if (e.data && e.options().check && a_state && a_state->used_by == 0) check_set(*a_state, 4, "reads an operand's");
  while (g.first_op + g.ops.size() <= number) g.ops.emplace_back();
  simulator::WgmmaOp& op = g.ops[size_t(number - g.first_op)];
  const uint32_t slot = t.index % 128;
  op.acc[slot] = acc;
  op.a_regs[slot] = a_regs;
  if (e.data) acc_state.used_by = number + 1;
  if (e.data && a_state) a_state->used_by = number + 1;
  issue_together(e, t, "wgmma.mma_async", at, [&] {
    ++w.wgmma_issued;
    if (op.warps == 0) {
      op.op = shape;
      op.a_desc = a_desc;
      op.b_desc = b_desc;
      op.accumulate = accumulate;
      op.from_registers = a_regs != nullptr;
      op.at = at;
    } else if (op.a_desc != a_desc || op.b_desc != b_desc || op.op.n != shape.n || op.accumulate != accumulate) {
      e.fail("wgmma.mismatch", "the four warps of a warpgroup issue a wgmma with different descriptors or shapes", &t,
             at);
    }
    if (++op.warps == 4) start(e, t, g, number);
  });
  e.maybe_yield(t);
}

void wgmma_wait(int pending, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  Warpgroup& g = group_of(t);
  e.word(t, e.timing.chip.word_issue, at);
  if (const Fault* f = fault_at(t, {"wgmma_wait", at, able({Fault::Action::add})})) {
    if (f->action == Fault::Action::drop) return;
    if (f->action == Fault::Action::alter) pending = int(f->value);
    if (f->action == Fault::Action::postpone || f->action == Fault::Action::add) pending += int(f->value);
  }
  rendezvous(e, t, "wgmma.wait_group", 0xffff'ffffu, Meeting::together, at, [] {});
  const int64_t groups = int64_t(w.wgmma_groups) - pending;
  if (groups <= 0) return;
  const uint64_t end = g.group_end[size_t(groups - 1)];
  while (g.landed_ops < end) {
    g.waiters.push_back(&t);
    e.block(t, Wait::wgmma, &g, at);
  }
  if (e.options().check) t.view[kHb].base = e.clocks.raise(t.view[kHb].base, g.channel, uint32_t(groups));
  w.wgmma_completed = std::max(w.wgmma_completed, end);
  // Operations that every warp knows complete are forgotten.
  uint64_t known = ~0ull;
  for (int i = 0; i < 4; ++i) known = std::min(known, t.cta->warps[size_t(g.index * 4 + i)]->wgmma_completed);
  while (g.first_op < known) {
    g.ops.pop_front();
    ++g.first_op;
  }
}

void stmatrix(uint32_t address, const uint32_t* r, int count, bool transpose, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  t.sums_read -= std::min<uint32_t>(t.sums_read, uint32_t(2 * count));  // its cost covers those that it stores
  e.word(t, e.timing.chip.matrix_store, at);
  if (address % 16) e.fail("bounds.alignment", "stmatrix: the address of a row is a multiple of 16", &t, at);
  w.collective.in[t.lane()] = address;
  for (int i = 0; i < count; ++i) w.matrix[t.lane() * count + i] = r[i];
  rendezvous(e, t, "stmatrix", 0xffff'ffffu, Meeting::together, at, [&] {
    uint8_t* rows[32];
    for (int l = 0; l < 8 * count; ++l) {
      const uint32_t a = w.collective.in[l];
      touch_shared(e, *t.cta, own_access(e, *w.lanes[l], "stmatrix", at), a, 16, true);
      rows[l] = t.cta->shared + (a & kSharedOffsetMask);
    }
    model::stmatrix(count, transpose, rows, w.matrix);
    // Each lane's registers go to rows that other lanes addressed: all lanes have written them.
    for (int l = 8 * count; l < 32; ++l) own_access(e, *w.lanes[l], "stmatrix", at);
  });
}

void ldmatrix(uint32_t address, uint32_t* r, int count, bool transpose, here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  e.word(t, e.timing.chip.shared_load, at);
  if (address % 16) e.fail("bounds.alignment", "ldmatrix: the address of a row is a multiple of 16", &t, at);
  w.collective.in[t.lane()] = address;
  rendezvous(e, t, "ldmatrix", 0xffff'ffffu, Meeting::together, at, [&] {
    const uint8_t* rows[32];
    for (int l = 0; l < 8 * count; ++l) {
      const uint32_t a = w.collective.in[l];
      touch_shared(e, *t.cta, own_access(e, *w.lanes[l], "ldmatrix", at), a, 16, false);
      rows[l] = t.cta->shared + (a & kSharedOffsetMask);
    }
    model::ldmatrix(count, transpose, rows, w.matrix);
  });
  for (int i = 0; i < count; ++i) r[i] = w.matrix[t.lane() * count + i];
}

}  // namespace detail

void wgmma_fence(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "wgmma_fence", at)) return;
  ++t.wgmma_fences;
}

void wgmma_commit(here at) {
  Thread& t = Engine::self();
  Engine& e = *t.cta->engine;
  Warp& w = *t.warp;
  Warpgroup& g = group_of(t);
  e.word(t, e.timing.chip.word_issue, at);
  if (is_dropped(t, "wgmma_commit", at)) return;
  issue_together(e, t, "wgmma.commit_group", at, [&] {
    const uint64_t number = w.wgmma_groups++;
    if (g.group_end.size() <= number) g.group_end.resize(size_t(number + 1), w.wgmma_issued);
    for (size_t i = 0; i < g.ops.size() && g.first_op + i < w.wgmma_issued; ++i) {
      if (g.ops[i].group) continue;
      g.ops[i].group = uint32_t(number + 1);
      settle(e, g, g.ops[i]);
    }
  });
}

}  // namespace warpwright::inline WW_WORLD::machine
