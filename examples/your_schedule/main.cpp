// A software pipeline of one's own: a loop for sm_80 that copies a tile into shared memory, reads its fragments and
// multiplies. The body says what happens to one tile, as if nothing overlapped; the order, the slots, the waits and the
// barriers are derived and proven before the program exists.
//
//   g++ -std=c++20 -I include examples/your_schedule/main.cpp -o your_schedule && ./your_schedule
//   ./warpwright schedule show examples/your_schedule/main.cpp
#include <cstdio>
#include <initializer_list>

#include "warpwright/schedule/registry.h"
#include "warpwright/schedule/schedule.h"
#include "warpwright/schedule/text.h"

using namespace warpwright::schedule;

constexpr Tag kCopy = data_tag(0), kFragments = data_tag(1), kMultiply = data_tag(2);
constexpr int kTileBuffer = 0, kTileBytes = 16384;

constexpr BodySpec make_body() {
  BodySpec body;
  body.name = "mine";
  body.buffers.push_back({"tile", kTileBuffer, kTileBytes});
  // Which unit, the cycles until the result is there, and what kind of op it is. The unit is taken for as long, unless
  // the occupancy says otherwise.
  const auto cost = [&body](Tag tag, const char* label, const OpCost& c) { body.costs.set(tag, c.named(label, 0)); };
  using enum ResourceKind;
  cost(kCopy, "COPY", {.resource = global_mem, .latency = 600, .role = OpRole::global_load, .occupancy = 0});
  cost(kFragments, "FRAG", {.resource = lds, .latency = 64, .role = OpRole::fragment_load, .occupancy = 0, .ticks = 0});
  cost(kMultiply, "MMA", {.resource = mma_unit, .latency = 256, .role = OpRole::compute, .ticks = 0});
  // What each op reads and writes. Dependences follow from this.
  const auto op = [&body](Tag tag, std::initializer_list<Access> accesses) {
    OpDesc description = OpDesc::logical(tag, 0, 0, 0);
    if (const Diagnostic wrong = annotate(description, body.costs); !wrong.ok()) body.error = wrong;
    OpNode node(description, body.costs);
    for (const Access& access : accesses) node.accesses.add(access);
    body.loop.ops.push_back(node);
  };
  using enum AccessMode;
  op(kCopy, {{Space::shared, write, kTileBuffer}});
  op(kFragments, {{Space::shared, read, kTileBuffer}, {Space::registers, write, kTileBuffer}});
  op(kMultiply, {{Space::registers, read, kTileBuffer}, {Space::accumulator, update}});
  return body;
}

constexpr Pipeline make_pipeline() { return compile(make_body(), targets::sm80); }

// A schedule that is not proven does not compile; the message is the rule and the names of the ops.
static_assert(require<make_pipeline>());
static_assert(require_order<make_pipeline>());

// The entries as constants, for a kernel to expand.
constexpr Schedule make_schedule() { return make_pipeline().schedule; }
constexpr auto kSchedule = freeze<make_schedule>();

// For the tool.
extern "C" void warpwright_schedules(Registry& registry) { registry.add("mine", make_pipeline); }

int main() {
  const Pipeline p = make_pipeline();
  // More work than a compiler does by default.
  for (const Diagnostic& finding : prove_waves(p)) {
    std::printf("%s\n", to_text(finding).c_str());
    return 1;
  }
  std::printf("interval %d cycles, at least %d; %d slots; %zu entries in the loop\n", p.interval(), p.mii(),
              p.depths[0].depth, kSchedule.kernel.size());
  const auto print = [&p](const char* phase, const auto& entries) {
    for (const ScheduleEntry& e : entries) {
      std::printf("%-9s %-14s", phase, p.costs.name(e.op).c_str());
      if (e.source >= 0) std::printf(" tile %+d", int(e.shift));
      std::printf("\n");
    }
  };
  print("prologue", kSchedule.prologue);
  print("loop", kSchedule.kernel);
  print("epilogue", kSchedule.epilogue);
}
