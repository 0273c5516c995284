#include "choice/wave_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include "choice/grouped_facts.h"
#include "problem/lower.h"
#include "warpwright/core/ceil_div.h"

namespace warpwright::choice {
namespace {

constexpr double kCyclesPerUs = 1755;  // the unit of the fitted numbers, not what a chip under load runs at
constexpr double kLineBytes = 128;     // a stage's part of a row of A or B
// What threads load where rows run along m or n, in bytes of a cycle. From one shape, 4096x4096x4097
// (docs/evidence/bench-unaligned.txt), when they loaded word by word; they are faster since, by how much was not
// measured.
constexpr double kThreadIngest = 2.47;
// Where they realign lines: instructions of a warp for a stage and for each of its rounds, counted in machine code. The
// rest is fitted by bench/choice/unaligned.py: the share of issue slots that one warp of a scheduler uses, or two of
// them; what a launch takes longer; and how many times as long as the TMA threads take to store a result.
constexpr double kRealignStage = 145, kRealignRound = 28, kIssuedByOne = 0.27, kIssuedByTwo = 0.477, kRealignUs = 1;
constexpr double kThreadStore = 14.1, kThreadStoreSwapped = 6.23;

// Plans that are behind after the first trees are not asked the others.
constexpr size_t kTreesForAll = 30, kAskedToTheEnd = 6;

double bytes(DType type) { return double(bits(type)) / 8; }

// Lines that 128 bytes of a row touch on average: rows that are whole lines apart all start at the beginning of one.
double lines_touched(int64_t pitch) {
  int period = 1;
  while (pitch * period % int64_t(kLineBytes) != 0) period *= 2;
  return 2 - 1.0 / period;
}
bool splits_sectors(int64_t pitch) { return pitch % 32 != 0; }

double load_cycles(const DenseGemmConfig& c) {
  if (c.load == Mover::tma) return 0;
  if (c.raw_slots() == 0) return c.stage_bytes() / kThreadIngest;
  const int lines = c.load_warps() * 4, of_a_scheduler = c.load_warps() / 4;
  const int rounds = ceil_div(c.tile_m, lines) + ceil_div(c.tile_n, lines);
  return of_a_scheduler * (kRealignStage + kRealignRound * rounds) / (of_a_scheduler > 1 ? kIssuedByTwo : kIssuedByOne);
}

const PlanNumber* number_of(const std::string& plan, const Fit& fit) {
  const std::string name = catalog::name_without_stages(plan);
  const auto at = std::lower_bound(fit.plans.begin(), fit.plans.end(), name,
                                   [](const PlanNumber& x, const std::string& y) { return x.plan < y; });
  return at != fit.plans.end() && at->plan == name ? &*at : nullptr;
}

double cluster_us(const Numbers& v, int cluster) {
  return cluster >= 8   ? v.cluster_8
         : cluster >= 4 ? v.cluster_4
         : cluster == 3 ? v.cluster_3
         : cluster == 2 ? v.cluster_2
                        : 0;
}

using Seen = std::array<float, kFeatures + 1>;  // what the trees look at; leaves look at the last, which is below all

// Adds what the trees say of the rows of `x` that are listed. Plans walk a tree together, so that none waits for
// another's loads, and their number is a constant, so that all of them are in registers: the first one fills up.
template <size_t Plans>
void walk(const Fit& fit, std::span<const uint16_t> roots, std::span<const size_t> listed, std::span<const Seen> x,
          std::span<double> sum) {
  std::array<const float*, Plans> seen;
  for (size_t i = 0; i < Plans; ++i) seen[i] = x[listed[i < listed.size() ? i : 0]].data();
  for (const uint16_t root : roots) {
    std::array<const Node*, Plans> at;
    at.fill(&fit.nodes[root]);
    for (bool moved = true; moved;) {
      moved = false;
      for (int level = 0; level < 4; ++level) {
        for (size_t i = 0; i < Plans; ++i) {
          const Node* const from = at[i];
          at[i] += from->step + (seen[i][from->feature] > from->value);
          if (level == 3) moved |= at[i] != from;
        }
      }
    }
    for (size_t i = 0; i < listed.size(); ++i) sum[listed[i]] += double(at[i]->value);
  }
}

struct Wave {
  double tensor, ingest, l2, memory;
  // They overlap, but not perfectly.
  double cycles() const { return std::sqrt(tensor * tensor + ingest * ingest + l2 * l2 + memory * memory); }
};

}  // namespace

WaveWork wave_work(const GemmShape& s) {
  WaveWork w{.m = s.m,
             .n = s.n,
             .k = s.k,
             .batch = s.batch,
             .a_type = s.dtype,
             .b_type = s.b_dtype(),
             .a_major = s.a_major,
             .b_major = s.b_major};
  w.result_bytes = floor_of(s).bytes -
                   double(s.batch) * double(s.k) * (double(s.m) * bytes(w.a_type) + double(s.n) * bytes(w.b_type));
  w.own_operations = s.own_operations;
  return w;
}

WaveWork wave_work(const GroupedProblem& p) {
  const bool single = p.groups == Groups::none, by_depth = p.groups == Groups::by_depth;
  const int64_t groups = single ? 1 : std::max<int64_t>(p.group_count, 1);
  WaveWork w{.fit = single ? &kBlockwiseFit : &kGroupedFit,
             .m = single || by_depth ? p.m : std::max<int64_t>(usual_rows(p), 1),
             .n = p.n,
             .k = by_depth ? p.k / groups : p.k,
             .batch = groups,
             .a_type = p.type,
             .b_type = p.type,
             .a_major = p.a_major,
             .b_major = p.b_major};
  const int64_t columns = p.activation == Activation::swiglu ? p.n / 2 : p.n;
  w.result_bytes = double(groups) * double(w.m) * double(columns) * bytes(p.out) * (p.accumulate ? 2 : 1);
  if (!p.formula.empty()) w.own_operations = problem::operations_of(p.formula);
  w.leaves_blocks = bits(p.type) == 16 && !single && !by_depth;
  w.measured = !by_depth && !p.gathered && !p.accumulate && p.activation != Activation::swiglu &&
               p.b_major == Major::K && p.out == DType::bf16;
  return w;
}

PlanFacts plan_facts(const Instance& instance, const Fit& fit) {
  PlanFacts f;
  const Numbers& v = fit.numbers;
  const auto few_rows = [&](const SkinnyGemmConfig& c, int rows, int tokens) {
    f.skinny = f.swapped = true;
    f.tile_m = f.group_n = tokens;
    f.tile_n = f.mma_m = rows;
    f.tile_k = c.tile_k();
    f.cluster = f.sharers = c.split;
    f.stages = c.stages;
    f.outputs = c.output_stages;
    f.warpgroups = rows / 64;
  };
  if (const auto* c = instance.as<SkinnyGemmConfig>()) {
    few_rows(*c, c->rows, c->tokens);
  } else if (const auto* b = instance.as<SkinnyBlockwiseConfig>()) {
    few_rows(b->skinny(), b->rows, b->tokens);
  } else if (const auto* g = instance.as<GroupedGemmConfig>()) {
    f.tile_m = f.mma_m = g->tile_m;
    f.tile_n = f.group_n = g->tile_n;
    f.tile_k = g->tile_k();
    f.cluster = g->cluster;
    f.cluster_m = g->cluster_m();
    f.cluster_n = g->cluster_n();
    f.stages = g->stages;
    f.outputs = GroupedGemmConfig{}.output_stages;  // a wider ring is part of the plan's name, and of its number
    f.group_blocks = g->group_rows / 64;
    f.warpgroups = g->warpgroups();
  } else {
    const DenseGemmConfig& d = *instance.as<DenseGemmConfig>();
    f.ping_pong = d.sharing == TileSharing::ping_pong;
    f.halves = d.sharing == TileSharing::halves;
    f.swapped = d.swapped;
    f.stream_k = d.split == DepthSplit::stream_k;
    f.split_k = d.split == DepthSplit::split_k;
    f.load_cycles = load_cycles(d);
    f.store_factor = d.store == Mover::tma ? 1 : d.swapped ? kThreadStoreSwapped : kThreadStore;
    f.tile_m = d.tile_m;
    f.tile_n = d.tile_n;
    f.tile_k = d.tile_k();
    f.cluster = d.cluster;
    f.cluster_m = d.cluster_m();
    f.cluster_n = d.cluster_n();
    f.stages = d.stages;
    f.outputs = d.output_stages;
    f.mma_m = d.mma_m();
    f.group_n = d.group_n();
    f.group_blocks = d.group_blocks();
    f.warpgroups = d.warpgroups();
  }
  const PlanNumber* const number = number_of(catalog::plan_name({instance.config}), fit);
  f.numbered = number != nullptr;
  f.factor = f.numbered ? std::exp(number->log_factor) : 1;
  const double rate = f.skinny             ? v.rate_skinny
                      : f.ping_pong        ? v.rate_ping_pong
                      : f.halves           ? v.rate_halves
                      : f.group_blocks > 1 ? v.rate_tall
                      : f.warpgroups == 3  ? v.rate_three
                      : f.warpgroups == 1  ? v.rate_alone
                                           : v.rate_plain;
  // A stage is four MMAs deep. Narrow ones wait for the rows of their M side.
  const double mma = 4 * std::max(f.group_n / 2.0, v.narrow_mma + f.group_n / 4.0) * f.mma_m / 64 * (f.halves ? 2 : 1);
  f.step = std::hypot(mma / rate, v.stage);
  f.result = f.skinny ? v.result_skinny * (f.tile_m / 64.0 + 0.3)
                      : v.result_dense + v.result_column * f.group_n * f.group_blocks;
  return f;
}

WaveModel::WaveModel(const WaveWork& work, int multiprocessors)
    : work_(work), numbers_(work.fit->numbers), sms_(multiprocessors) {
  for (int cluster = 1; cluster <= 8; ++cluster) resident_[cluster] = resident_clusters(multiprocessors, cluster);
  const int a_bits = bits(work.a_type), b_bits = bits(work.b_type);
  depth_bytes_ = work.k * a_bits / 8;
  batch_ = double(work.batch);
  // The pitch of rows that follow each other as closely as the TMA allows.
  constexpr int64_t tma_unit = 16;
  const int64_t a_pitch = ceil_div((work.a_major == Major::K ? work.k : work.m) * a_bits / 8, tma_unit) * tma_unit;
  const int64_t b_pitch = ceil_div((work.b_major == Major::K ? work.k : work.n) * b_bits / 8, tma_unit) * tma_unit;
  a_lines_ = lines_touched(a_pitch);
  b_lines_ = lines_touched(b_pitch);
  a_sectors_ = splits_sectors(a_pitch);
  b_sectors_ = splits_sectors(b_pitch);
  moved_ = batch_ * double(work.k) * (double(work.m) * bytes(work.a_type) + double(work.n) * bytes(work.b_type));
  const Numbers& v = numbers_;
  const auto lookups = [&](int64_t rows, double lines, bool sectors) {
    return kLineBytes / v.l2 * batch_ * double(rows) *
           (1 + v.l2_straddled * (lines - 1) + (sectors ? v.l2_sectors : 0));
  };
  a_lookups_ = lookups(work.m, a_lines_, a_sectors_);
  b_lookups_ = lookups(work.n, b_lines_, b_sectors_);
  const double straddled = (a_lines_ + b_lines_) / 2 - 1;
  least_memory_ =
      (moved_ * (1 + v.memory_straddled * straddled) + v.memory_result * work.result_bytes) / v.memory * kCyclesPerUs;
}

double WaveModel::least_us(const PlanFacts& p, int parts) const {
  if (p.stream_k || work_.leaves_blocks) return 0;
  const auto tiles = [](int64_t extent, int side) { return double((extent + side - 1) / side); };
  const double rows = tiles(work_.m, p.tile_m * p.cluster_m), columns = tiles(work_.n, p.tile_n * p.cluster_n);
  const double jobs = rows * columns * batch_ * parts;
  const double waves = std::max(1.0, jobs / double(resident_[p.cluster]));
  const double depth = double(work_.k) / double(p.tile_k * parts * p.sharers);
  const double slices = double(work_.k) / p.tile_k;
  const double tensor = waves * depth * p.step, l2 = slices * (a_lookups_ * columns + b_lookups_ * rows);
  // The root of a sum over all waves is no more than the sum of their roots.
  const double cycles = std::sqrt(tensor * tensor + l2 * l2 + least_memory_ * least_memory_);
  return ((p.skinny ? numbers_.fixed_skinny : numbers_.fixed_dense) + cycles / kCyclesPerUs) * p.factor;
}

Terms WaveModel::terms(const PlanFacts& p, int parts) const {
  const Numbers& v = numbers_;
  Terms t;
  t.plan = &p;
  t.parts = parts;
  t.resident = resident_[p.cluster];
  t.rows = ceil_div(work_.m, int64_t(p.tile_m) * p.cluster_m);
  t.columns = ceil_div(work_.n, int64_t(p.tile_n) * p.cluster_n);
  t.jobs = t.rows * t.columns * work_.batch * parts;
  if (t.jobs == 0) return t;
  t.waves = ceil_div(t.jobs, t.resident);
  const int64_t slices = ceil_div(work_.k, p.tile_k);
  t.depth = ceil_div(slices, parts * p.sharers);
  const double depth = double(t.depth), jobs = double(t.jobs);

  const double inside_m = double(std::min<int64_t>(work_.m, p.tile_m));
  const double inside_n = double(std::min<int64_t>(work_.n, p.tile_n));
  const double entering = kLineBytes * (inside_m + inside_n + v.outside * (p.tile_m - inside_m + p.tile_n - inside_n));
  const double own = v.own_lines * (a_lines_ * inside_m / p.cluster_n + b_lines_ * inside_n / p.cluster_m);
  const double shown = (p.ping_pong ? v.ping_pong_shows : 1) * p.result * p.store_factor;
  const double a_asked = batch_ * double(slices * work_.m * t.columns);
  const double b_asked = batch_ * double(slices * work_.n * t.rows);
  t.asked = a_asked + b_asked;
  const double l2 = double(slices) * (a_lookups_ * double(t.columns) + b_lookups_ * double(t.rows));
  // On the average half of the last block of 64 rows is there.
  const double filled = work_.leaves_blocks && p.tile_m > 64
                            ? std::min(1.0, double(work_.m + 32) / double(ceil_div(work_.m, p.tile_m) * p.tile_m))
                            : 1;
  const auto wave = [&](double clusters, double tiles) -> Wave {
    const double ctas = std::min(clusters * p.cluster, double(sms_));
    const double loads = p.load_cycles > 0 ? p.load_cycles : entering * ctas / v.ingest + own;
    const double part = clusters / jobs;
    return {(depth * p.step * filled + shown) * tiles, depth * tiles * loads, l2 * part,
            least_memory_ * part * (1 + (sms_ / ctas - 1) * v.memory_few)};
  };
  // A last wave of few tiles moves few bytes, but its SMs take as long as any other's. Stream-K has no last wave.
  const int64_t full = p.stream_k ? 0 : t.waves - 1;
  const Wave last =
      p.stream_k ? wave(jobs, std::max(1.0, jobs / double(t.resident))) : wave(double(t.jobs - full * t.resident), 1);
  const Wave before = full > 0 ? wave(double(t.resident), 1) : Wave{0, 0, 0, 0};
  const double waves = double(full);
  t.tensor = waves * before.tensor + last.tensor;
  t.ingest = waves * before.ingest + last.ingest;
  t.l2 = waves * before.l2 + last.l2;
  t.memory = waves * before.memory + last.memory;
  t.last_wave = last.cycles();
  t.last_tensor = last.tensor;
  t.last_ingest = last.ingest;

  const double area = double(p.tile_m) * p.tile_n;
  t.fixed_us = (p.skinny ? v.fixed_skinny : v.fixed_dense) + cluster_us(v, p.cluster) +
               v.last_result * p.result * p.store_factor / kCyclesPerUs + v.wave * waves;
  if (p.sharers > 1) t.fixed_us += v.exchange + v.exchange_tile * double(t.waves) * area / 8192;
  if (p.split_k) t.fixed_us += v.splittable;
  const int summed = p.stream_k ? 2 : parts;
  if (summed > 1) t.fixed_us += v.fixup + v.fixup_part * summed * area / 16384;
  if (p.load_cycles > 0) t.fixed_us += kRealignUs;
  t.plain_us = t.fixed_us + (waves * before.cycles() + t.last_wave) / kCyclesPerUs;
  t.us = t.plain_us * p.factor;
  t.own_us = own_us(t);
  return t;
}

// While a warpgroup computes an epilogue its tensor core is idle, unless another warpgroup multiplies meanwhile. The
// four schedulers of an SM issue for at most 128 lanes a cycle; how much less it is has not been measured.
double WaveModel::own_us(const Terms& t) const {
  const PlanFacts& p = *t.plan;
  constexpr double lanes = 128;
  const double cycles = double(p.tile_m) * p.tile_n * work_.own_operations / lanes;
  const double waves = double(t.waves);
  if (!p.ping_pong) return waves * cycles / kCyclesPerUs;
  return ((waves - 1) * std::max(0.0, cycles - double(t.depth) * p.step) + cycles) / kCyclesPerUs;
}

void WaveModel::correct(std::span<const Terms> plans, std::span<double> us, std::span<const double> cost) const {
  static_assert(kListed <= kMostCorrected);
  std::array<Seen, kMostCorrected> x;
  const size_t count = plans.size();
  for (size_t i = 0; i < count; ++i) {
    const Terms& t = plans[i];
    const PlanFacts& p = *t.plan;
    const double cycles = t.plain_us * kCyclesPerUs, jobs = double(t.jobs), resident = double(t.resident);
    const auto set = [&](Feature feature, double value) { x[i][feature] = float(value); };
    set(of_skinny, p.skinny);
    set(of_tile_m, p.tile_m);
    set(of_tile_n, p.tile_n);
    set(of_mma_m, p.mma_m);
    set(of_cluster_m, p.cluster_m);
    set(of_cluster_n, p.cluster_n);
    set(of_sharers, p.sharers);
    set(of_parts, t.parts);
    set(of_swapped, p.swapped);
    set(of_stream_k, p.stream_k);
    set(of_split_k, p.split_k);
    set(of_ping_pong, p.ping_pong);
    set(of_group_blocks, p.group_blocks);
    set(of_outputs, p.outputs);
    set(of_stages, p.stages);
    set(of_lines, (a_lines_ + b_lines_) / 2);
    set(of_sectors, (a_sectors_ + b_sectors_) / 2.0);
    set(of_waves, std::log2(jobs / resident));
    set(of_fill, jobs / (double(t.waves) * resident));
    set(of_last, double(t.jobs - (t.waves - 1) * t.resident) / resident);
    set(of_depth, std::log2(double(std::max<int64_t>(1, t.depth))));
    set(of_m, std::log2(double(work_.m)));
    set(of_n, std::log2(double(work_.n)));
    set(of_k, std::log2(double(std::max<int64_t>(1, depth_bytes_)) / 2));
    set(of_batch, std::log2(batch_));
    set(of_size, bytes(work_.a_type));
    const double padded_m = double(t.rows * p.tile_m * p.cluster_m) / double(work_.m);
    const double padded_n = double(t.columns * p.tile_n * p.cluster_n) / double(work_.n);
    set(of_padded_m, padded_m);
    set(of_padded_n, padded_n);
    set(of_us, std::log2(t.plain_us));
    set(of_ctas, double(std::min(t.jobs, t.resident) * p.cluster));
    set(of_reuse, moved_ > 0 ? std::log2(kLineBytes * t.asked / moved_) : 0);
    set(of_tensor, t.tensor / cycles);
    set(of_ingest, t.ingest / cycles);
    set(of_l2, t.l2 / cycles);
    set(of_memory, t.memory / cycles);
    set(of_last_wave, t.last_wave / cycles);
    set(of_last_tensor, t.last_tensor / cycles);
    set(of_last_ingest, t.last_ingest / cycles);
    set(of_fixed, t.fixed_us / t.plain_us);
    set(of_result, p.result / cycles);
    const double area = double(p.tile_m) * p.tile_n, sides = p.tile_m + p.tile_n;
    const double depth = double(std::max<int64_t>(1, t.depth));
    const double inside_m = double(std::min<int64_t>(work_.m, p.tile_m));
    const double inside_n = double(std::min<int64_t>(work_.n, p.tile_n));
    set(of_halves, p.halves);
    set(of_warpgroups, p.warpgroups);
    set(of_group_n, p.group_n);
    set(of_cluster, p.cluster);
    set(of_area, area);
    set(of_intensity, area / sides);
    set(of_padded, padded_m * padded_n);
    set(of_inside_m, inside_m / p.tile_m);
    set(of_inside_n, inside_n / p.tile_n);
    set(of_in_flight, p.stages * sides);
    set(of_stages_of_depth, p.stages / depth);
    set(of_entered, std::log2(depth * (inside_m + inside_n)));
    set(of_own_entered, std::log2(depth * (inside_m / p.cluster_n + inside_n / p.cluster_m)));
    set(kFeatures, -std::numeric_limits<float>::infinity());
  }
  std::array<double, kMostCorrected> sum{};
  const auto corrected = [&](size_t i) {
    // The trees know nothing of threads that load.
    const bool seen = work_.measured && plans[i].plan->load_cycles == 0;
    return plans[i].us * (seen ? std::exp(sum[i]) : 1) + plans[i].own_us;
  };
  std::array<size_t, kMostCorrected> asked;
  std::iota(asked.begin(), asked.end(), size_t(0));
  size_t left = count;
  const auto ask = [&](std::span<const uint16_t> roots) {
    if (left > kAskedToTheEnd) {
      walk<kMostCorrected>(*work_.fit, roots, std::span(asked).first(left), x, sum);
    } else {
      walk<kAskedToTheEnd>(*work_.fit, roots, std::span(asked).first(left), x, sum);
    }
  };
  const std::span<const uint16_t> trees = work_.fit->roots;
  const size_t first = std::min(trees.size(), kTreesForAll);
  ask(trees.first(first));
  if (count > kAskedToTheEnd && !cost.empty()) {
    for (size_t i = 0; i < count; ++i) us[i] = corrected(i);
    left = kAskedToTheEnd;
    std::partial_sort(asked.begin(), asked.begin() + std::ptrdiff_t(left), asked.begin() + std::ptrdiff_t(count),
                      [&](size_t i, size_t j) { return us[i] * cost[i] < us[j] * cost[j]; });
  }
  ask(trees.subspan(first));
  double most = 0;
  for (size_t i = 0; i < left; ++i) {
    us[asked[i]] = corrected(asked[i]);
    if (left < count) most = std::max(most, us[asked[i]] * cost[asked[i]]);
  }
  for (size_t i = left; i < count; ++i) us[asked[i]] = std::max(us[asked[i]], most / cost[asked[i]]);
}

PlanEstimate WaveModel::estimate(const Terms& t, double us) const {
  PlanEstimate e;
  e.tile_m = t.plan->tile_m;
  e.tile_n = t.plan->tile_n;
  e.tile_k = t.plan->tile_k;
  e.split = t.parts * t.plan->sharers;
  e.tiles = t.jobs;
  e.clusters = t.resident;
  if (t.jobs == 0) return e;
  e.waves = t.waves;
  e.fill = double(t.jobs) / double(t.waves * t.resident);
  e.us = us;
  e.tensor_us = t.tensor / kCyclesPerUs;
  e.ingest_us = std::hypot(t.ingest, t.l2) / kCyclesPerUs;
  e.memory_us = t.memory / kCyclesPerUs;
  return e;
}

bool is_modelled(const Instance& instance) {
  const auto* const c = instance.as<DenseGemmConfig>();
  if (c == nullptr) return true;
  const DenseGemmConfig usual;
  return plan_facts(instance, kDenseFit).numbered ||
         (c->raster == usual.raster && c->raster_group == usual.raster_group && !c->raster_by_columns &&
          c->a_hint == usual.a_hint && c->b_hint == usual.b_hint && c->overlapped && c->dependent);
}

PlanEstimate estimate(const Instance& instance, const GemmShape& shape, int multiprocessors) {
  const WaveModel model(wave_work(shape), multiprocessors);
  const PlanFacts plan = plan_facts(instance, kDenseFit);
  const Terms terms = model.terms(plan, std::max(1, instance.splits));
  if (terms.jobs == 0) return model.estimate(terms, 0);
  double us = 0;
  model.correct({&terms, 1}, {&us, 1});
  return model.estimate(terms, us);
}

}  // namespace warpwright::choice
