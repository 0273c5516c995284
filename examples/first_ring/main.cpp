// A warp-specialized kernel of one's own, checked on the CPU: a load warp brings rows of a matrix through a ring of
// three stages, four compute warps add up each column. The same struct compiles for sm_90a with nvcc.
//
//   cmake --install <build> --prefix <prefix>
//   cmake -S examples/first_ring -B build/first_ring -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build/first_ring
//   build/first_ring/first_ring          the kernel is right
//   build/first_ring/first_ring broken   the consumers forget to hand their stages back: the report names the line
#include <cstdio>
#include <cstring>
#include <vector>

#include "warpwright/machine/machine.h"
#include "warpwright/pipeline/init.h"
#include "warpwright/pipeline/ring.h"
#include "warpwright/sim/simulator.h"

using namespace warpwright;

constexpr int kColumns = 128, kRows = 8, kStages = 3;  // a stage holds kRows rows
constexpr TensorBox box{DType::fp32, kColumns, kRows, Swizzle::none};

constexpr BlockPlan make_block_plan() {
  BlockPlan plan("column_sums", Arch::sm90);
  plan.role("compute", 4).role("load", 1);
  plan.region("rows", box.bytes(), kStages, 128);
  plan.barrier("rows.full", kStages, 1, "compute", {"load", 1});
  plan.barrier("rows.empty", kStages, 4, "load", {"compute", 4});
  return plan;
}

struct ColumnSums {
  static constexpr BlockPlan plan = make_block_plan();
  struct Args {
    TensorMap x;
    Global<float> sums;
    int rows;
  };

  WW_FN static void body(const Args& args) {
    check_block_plan<ColumnSums>();
    constexpr uint32_t full = plan.barrier("rows.full").offset, empty = plan.barrier("rows.empty").offset;
    const uint32_t base = machine::shared_base();
    const auto ring = pipeline::ring_at<kStages>(base, full, empty);
    const auto stage_at = [&](int i) { return Shared<float>{base + box.bytes() * uint32_t(i)}; };
    pipeline::set_up_barriers<ColumnSums>(base);
    const int steps = (args.rows + kRows - 1) / kRows;
    if (machine::warp_uniform(machine::warp_index()) == 4) {
      if (!machine::elect_one()) return;
      pipeline::Producer<kStages, pipeline::PublishByTma> rows(ring);
      for (int i = 0; i < steps; ++i)
        rows.produce([&](auto stage) {
          stage->expect_bytes(box.bytes());
          machine::tma_load(stage_at(stage->index()), &args.x, machine::Coords{0, i * kRows}, stage->full());
          return stdx::move(stage).release();
        });
    } else {
      pipeline::Consumer<kStages, pipeline::ReleaseByWarp<pipeline::Readers::threads>> rows(ring);
      const int column = int(machine::thread_index());
      float sum = 0;
      for (int i = 0; i < steps; ++i)
        rows.consume([&](auto stage) {
          for (int r = 0; r < kRows; ++r) sum += machine::load(stage_at(stage->index()) + (r * kColumns + column));
          return stdx::move(stage).release();  // leave this out and it does not compile
        });
      machine::store(args.sums + column, sum);
    }
  }
};

int main(int argc, char** argv) {
  const int rows = 100;
  alignas(128) static float x[rows][kColumns];
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < kColumns; ++c) x[r][c] = float((r * 7 + c) % 5);
  std::vector<float> sums(kColumns, -1);

  ColumnSums::Args args{{}, sums.data(), rows};
  if (auto why = simulator::encode_tensor_map(box, x, rows, kColumns, args.x)) return std::puts(why->c_str()), 2;
  simulator::Options options;
  if (argc > 1 && std::strcmp(argv[1], "broken") == 0)
    options.faults.push_back({"mbarrier_arrive", "rows.empty", "compute"});
  using Use = simulator::Buffer::Use;
  const simulator::Result result = simulator::run_kernel<ColumnSums>(
      args, {1, 1, 1}, {{x, sizeof x, "x", Use::input}, {sums.data(), sums.size() * 4, "sums", Use::output}}, options);
  if (!result.ok()) {
    std::puts(result.findings[0].text().c_str());
    return 1;
  }
  for (int c = 0; c < kColumns; ++c) {
    float want = 0;
    for (int r = 0; r < rows; ++r) want += x[r][c];
    if (sums[size_t(c)] != want)
      return std::printf("column %d: %g instead of %g\n", c, double(sums[size_t(c)]), double(want)), 1;
  }
  std::printf("right: %d columns, %llu words, predicted %.2f us on an H200\n", kColumns,
              (unsigned long long)result.stats.words, result.stats.predicted_us);
  return 0;
}
