// The CDNA matmul in the simulator: its results in every mode and for every kind of shape.
#include <set>
#include <utility>

#include "cdna/matmul_problem.h"

namespace warpwright::cdna_test {
namespace {

using simulator::Landing;
using simulator::Options;
using simulator::Scheduling;

void expect_right(const Product& run) {
  EXPECT_TRUE(run.sim.ok()) << run.first();
  EXPECT_EQ(run.wrong, 0);
  EXPECT_EQ(run.stray, 0);
}

TEST(CdnaMatmul, is_right_however_late_loads_land) {
  for_each_config([]<CdnaMatmulConfig C> {
    for (const Landing landing : {Landing::eager, Landing::late, Landing::seeded}) {
      expect_right(multiply<C>({512, 512, 512}, in_mode(landing)));
    }
  });
}

TEST(CdnaMatmul, is_right_in_any_interleaving_of_its_waves) {
  for_each_config([]<CdnaMatmulConfig C> {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (const Scheduling s : {Scheduling::random, Scheduling::pct}) {
        expect_right(multiply<C>({256, 256, 1024}, in_mode(Landing::seeded, s, seed)));
      }
    }
    const BlockPlan& plan = kernel::cdna::Matmul<C>::plan;
    for (int r = 0; r < plan.role_count; ++r) {
      Options frozen = in_mode(Landing::late, Scheduling::freeze);
      frozen.frozen_role = plan.roles[r].name;
      expect_right(multiply<C>({256, 256, 512}, frozen));
    }
  });
}

TEST(CdnaMatmul, takes_every_shape) {
  for_each_config([]<CdnaMatmulConfig C> {
    const Options late = in_mode(Landing::late);
    const uint32_t unit = 16 / C.element_bytes(), tile = C.tile_k();
    // Edges of the tile in M and N, with rows of D that are and are not whole groups of four.
    for (const auto& [m, n] : {std::pair{1u, 1u}, {255u, 257u}, {257u, 130u}, {129u, 260u}, {16u, 1000u}}) {
      expect_right(multiply<C>({m, n, 2 * tile}, late));
    }
    // Every number of K tiles that the peeled phases distinguish, and a part of a tile.
    for (uint32_t k = 0; k <= 6 * tile; k += tile) expect_right(multiply<C>({100, 60, k}, late));
    for (const uint32_t k : {unit, tile - unit, tile + unit, 3 * tile + 5 * unit}) {
      expect_right(multiply<C>({70, 90, k}, late));
    }
    // Rows with a gap, which holds NaN and must stay as it is.
    expect_right(multiply<C>({130, 131, tile + unit, 3}, late));
    expect_right(multiply<C>({130, 132, tile, 4}, late));
  });
}

TEST(CdnaMatmul, multiplies_by_alpha_and_writes_fp32) {
  constexpr CdnaMatmulConfig wide{.variant = ping_pong, .out_type = DType::fp32};
  constexpr CdnaMatmulConfig narrow{.variant = four_wave, .type = DType::e4m3, .out_type = DType::fp32};
  expect_right(multiply<wide>({260, 520, 192}, in_mode(Landing::late), 0.25f));
  expect_right(multiply<wide>({65, 33, 192}, in_mode(Landing::late), 3));
  expect_right(multiply<narrow>({200, 131, 256}, in_mode(Landing::late), 0.25f));
  constexpr CdnaMatmulConfig bf16_out{.variant = ping_pong};
  expect_right(multiply<bf16_out>({65, 33, 192}, in_mode(Landing::late), 0.25f));
}

TEST(CdnaMatmul, runs_proven_schedules_at_the_least_interval) {
  for_each_config([]<CdnaMatmulConfig C> {
    const schedule::Pipeline p = cdna::pipeline_of(cdna::schedule_key(C));
    ASSERT_TRUE(p.ok());
    for (int n = p.stages() - 1; n <= 2 * p.stages() + 4; ++n) EXPECT_TRUE(verify(p, n).empty()) << n;
    using K = kernel::cdna::Matmul<C>;
    // Declared blocks are an order without cycles, so they have no interval to compare.
    if (C.variant != blocks) {
      EXPECT_EQ(K::facts.interval, K::facts.least_interval);
    }
    EXPECT_LE(K::plan.shared_bytes, uint32_t(p.target.shared_bytes));
    EXPECT_EQ(K::plan.shared_bytes, p.shared());
    EXPECT_EQ(K::facts.staggered, C.ping_pong());
  });
}

// A phase of ds_read_b128 moves 256 bytes on gfx950, 128 on gfx942: neighbouring lanes must not meet in a bank.
TEST(CdnaMatmul, fragment_reads_have_no_bank_conflicts) {
  for_each_config([]<CdnaMatmulConfig C> {
    const uint32_t banks = C.arch == Arch::gfx942 ? 32 : 64, lanes = banks / 4;
    for (uint32_t slice = 0; slice < 2; ++slice) {
      for (uint32_t first = 0; first < 64; first += lanes) {
        std::set<uint32_t> used;
        for (uint32_t lane = first; lane < first + lanes; ++lane) {
          const uint32_t row = lane % 16, chunk = 4 * slice + lane / 16;
          const uint32_t address = row * C.kTileBytes + C.place_of(row, chunk);
          for (uint32_t word = 0; word < 4; ++word) used.insert(address / 4 % banks + word);
        }
        EXPECT_EQ(used.size(), banks) << "lanes from " << first;
      }
    }
    // What the kernel relies on: the second slice is 64 bytes away in the swizzled row, and the exchange undoes itself.
    for (uint32_t row = 0; row < 16; ++row) {
      for (uint32_t chunk = 0; chunk < 8; ++chunk) {
        EXPECT_EQ(C.place_of(row, chunk) ^ 64u, C.place_of(row, chunk ^ 4u));
        EXPECT_EQ(C.place_of(row, C.place_of(row, chunk) / 16), chunk * 16);
      }
    }
  });
}

TEST(CdnaMatmul, the_clock_follows_the_matrix_units) {
  for_each_config([]<CdnaMatmulConfig C> {
    Options timed = in_mode(Landing::timed);
    timed.timeline = true;
    const uint32_t tile = C.tile_k(), rows = C.tile_m(), columns = C.tile_n();
    const Product few = multiply<C>({rows, columns, 8 * tile}, timed);
    const Product many = multiply<C>({rows, columns, 24 * tile}, timed);
    expect_right(few);
    expect_right(many);
    EXPECT_GT(few.sim.stats.predicted_us, 1);
    // Sixteen tiles more cannot be faster than the matrix units, which four SIMDs share, and no ten times slower.
    const double more = double(many.sim.stats.predicted_cycles - few.sim.stats.predicted_cycles);
    const double units = double(many.sim.stats.tensor_busy_cycles - few.sim.stats.tensor_busy_cycles) / 4;
    EXPECT_GE(more, units);
    // Single elements pass through the memory's unit one after the other, which is what sets their time.
    if (!C.by_elements) {
      EXPECT_LT(more, 3 * units);
    }
    ASSERT_FALSE(few.sim.spans.empty());
    for (const simulator::Span& s : few.sim.spans) EXPECT_LT(s.begin_us, s.end_us);
  });
}

}  // namespace
}  // namespace warpwright::cdna_test
