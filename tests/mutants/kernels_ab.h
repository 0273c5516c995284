// Shared by the small kernels of sections A and B: how a kernel becomes a Run, and the ring through which a load role
// feeds blocks of floats to a role that reads them with ordinary loads.
//
// A kernel is a struct with `static constexpr BlockPlan plan`, the launch's data as members, `grid`, `buffers()` and
// `body()`. The bug is a member `mutated` where it is a matter of control flow, and a Fault where it is one word.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "corpus.h"
#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"

namespace warpwright::mutants::ab {

using simulator::Buffer;
using simulator::Fault;
using simulator::Options;

template <class T, size_t N>
Buffer input(const char* name, std::array<T, N>& data) {
  return {data.data(), sizeof(data), name, Buffer::Use::input, false};
}
template <class T, size_t N>
Buffer output(const char* name, std::array<T, N>& data) {
  return {data.data(), sizeof(data), name, Buffer::Use::output, false};
}

// Every run starts from a fresh copy of the kernel's data.
template <class K>
Run run_of(const K& kernel, std::vector<Fault> faults = {}) {
  return [kernel, faults](const Options& options) {
    K k = kernel;
    Options o = options;
    o.faults = faults;
    if constexpr (requires { k.adjust(o); }) k.adjust(o);
    simulator::Launch launch{&K::plan, k.grid, 0, 0, k.buffers()};
    return simulator::run(launch, o, [&k] { k.body(); });
  };
}

template <class K>
std::vector<std::string> roles_of() {
  std::vector<std::string> names;
  for (int i = 0; i < K::plan.role_count; ++i) names.push_back(K::plan.roles[i].name);
  return names;
}

template <class K>
void add_by_flag(std::vector<Mutant>& all, const char* id, const char* bug, const char* mutation,
                 std::vector<std::string> expected, K correct = {}) {
  K mutated = correct;
  mutated.mutated = true;
  all.push_back({id, bug, mutation, std::move(expected), roles_of<K>(), run_of(correct), run_of(mutated)});
}
template <class K>
void add_by_fault(std::vector<Mutant>& all, const char* id, const char* bug, const char* mutation,
                  std::vector<std::string> expected, std::vector<Fault> faults, K kernel = {}) {
  all.push_back(
      {id, bug, mutation, std::move(expected), roles_of<K>(), run_of(kernel), run_of(kernel, std::move(faults))});
}

inline int warp() { return int(machine::thread_index() / 32); }
inline int lane() { return int(machine::thread_index() % 32); }

template <class T>
Shared<T> shared_at(uint32_t offset) {
  return {machine::shared_base() + offset};
}
template <class T, size_t N>
T read_global(const std::array<T, N>& a, int i, machine::here at = {}) {
  return machine::load(Global<const T>{a.data() + i}, at);
}
template <class T, size_t N>
void write_global(std::array<T, N>& a, int i, T v, machine::here at = {}) {
  machine::store(Global<T>{a.data() + i}, v, at);
}

// The input ring: two stages of 32 floats, filled by bulk copies of one thread, read by warps.
inline constexpr int kStages = 2;
inline constexpr int kBlock = 32;
inline constexpr uint32_t kBlockBytes = kBlock * sizeof(float);
inline constexpr int kBlocks = 8;
struct alignas(16) Blocks : std::array<float, kBlock * kBlocks> {};  // a bulk copy wants aligned sources

constexpr void add_input_ring(BlockPlan& plan, const char* reader, int reader_warps) {
  plan.region("input", kBlockBytes, kStages, 128);
  plan.barrier("input.full", kStages, 1, reader, {"load", 1});
  plan.barrier("input.empty", kStages, reader_warps, "load", {reader, reader_warps});
}

template <class K>
pipeline::Ring<kStages> input_ring() {
  return pipeline::ring_at<kStages>(machine::shared_base(), K::plan.barrier("input.full").offset,
                                    K::plan.barrier("input.empty").offset);
}

using InputProducer = pipeline::Producer<kStages, pipeline::PublishByTma>;
using InputConsumer = pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>>;

// By one thread.
template <class K>
void load_block(InputProducer& ring, const Blocks& x, int block, machine::here at = {}) {
  ring.produce(
      [&](auto stage) {
        stage->expect_bytes(kBlockBytes, at);
        const Shared<float> to = shared_at<float>(K::plan.region("input").offset) + stage->index() * kBlock;
        machine::bulk_load(to, Global<const float>{x.data() + block * kBlock}, kBlockBytes, stage->full(), at);
        return std::move(stage).release(at);
      },
      at);
}
// By all lanes of the reading warps: the float of this lane.
template <class K>
float read_block(InputConsumer& ring, machine::here at = {}) {
  float v = 0;
  ring.consume(
      [&](auto stage) {
        v = machine::load(shared_at<float>(K::plan.region("input").offset) + (stage->index() * kBlock + lane()), at);
        return std::move(stage).release(at);
      },
      at);
  return v;
}

// A ring of one stage of 32 floats between two warps that use ordinary loads and stores.
constexpr void add_hand_over(BlockPlan& plan, const char* data, const char* full, const char* empty, const char* from,
                             const char* to) {
  plan.region(data, kBlockBytes, 1, 128);
  plan.barrier(full, 1, 32, to, {from, 32});
  plan.barrier(empty, 1, 1, from, {to, 1});
}
using Giver = pipeline::Producer<1, pipeline::PublishByThread<pipeline::To::threads>>;
using Taker = pipeline::Consumer<1, pipeline::ReleaseByWarp<pipeline::Readers::threads>>;

inline pipeline::Ring<1> hand_over_ring(BarrierSpec full, BarrierSpec empty) {
  return pipeline::ring_at<1>(machine::shared_base(), full.offset, empty.offset);
}
inline void give(Giver& ring, RegionSpec data, float v, machine::here at = {}) {
  ring.produce(
      [&](auto stage) {
        machine::store(shared_at<float>(data.offset) + lane(), v, at);
        return std::move(stage).release(at);
      },
      at);
}
inline float take(Taker& ring, RegionSpec data, machine::here at = {}) {
  float v = 0;
  ring.consume(
      [&](auto stage) {
        v = machine::load(shared_at<float>(data.offset) + lane(), at);
        return std::move(stage).release(at);
      },
      at);
  return v;
}

}  // namespace warpwright::mutants::ab
