// The reference derives dependences from roles by pattern rules. They are kept as they are, with what they miss: no
// ANTI edge into a load of the previous tile, none on the staging registers of the single-buffer body, subtiles
// ignored.
#pragma once
#include "warpwright/schedule/legacy/config.h"

namespace warpwright::schedule::legacy {

enum class KFilter : uint8_t { any, only_k_prev, not_k_prev };
inline constexpr int kDistanceFromKOffset = -1;  // K_PREV: 0, otherwise 1

// -1 in a predicate: any.
struct EdgeRule {
  OpRole producer = OpRole::none;
  OpRole consumer = OpRole::none;
  DepKind kind = DepKind::flow;
  int distance = 0;
  bool match_channel = false;
  bool match_stage = false;
  bool match_subtile = false;
  bool use_config_match = false;
  bool same_half = false;
  bool cross_half = false;
  int producer_half = -1;
  KFilter k_filter = KFilter::any;
  int lc_producer = -1;
  int lc_consumer = -1;
  int producer_ordinal = -1;
  int consumer_ordinal = -1;
  bool first_match_only = false;
};

constexpr List<EdgeRule> double_buffer_rules() {
  using R = OpRole;
  return {
      {.producer = R::fragment_load, .consumer = R::compute, .use_config_match = true, .same_half = true},
      {.producer = R::compute,
       .consumer = R::compute,
       .match_stage = true,
       .match_subtile = true,
       .cross_half = true,
       .producer_half = 0},
      {.producer = R::compute,
       .consumer = R::compute,
       .distance = 1,
       .match_stage = true,
       .match_subtile = true,
       .cross_half = true,
       .producer_half = 1},
      {.producer = R::global_load,
       .consumer = R::fragment_load,
       .distance = kDistanceFromKOffset,
       .match_channel = true,
       .match_stage = true},
      {.producer = R::fragment_load,
       .consumer = R::global_load,
       .kind = DepKind::anti,
       .match_channel = true,
       .match_stage = true,
       .k_filter = KFilter::not_k_prev},
  };
}

constexpr List<EdgeRule> single_buffer_rules() {
  using R = OpRole;
  return {
      {.producer = R::fragment_load,
       .consumer = R::compute,
       .match_subtile = true,
       .lc_producer = 0,
       .lc_consumer = 0,
       .first_match_only = true},
      {.producer = R::sync, .consumer = R::shared_store, .producer_ordinal = 0},
      {.producer = R::shared_store, .consumer = R::sync, .consumer_ordinal = 1},
      {.producer = R::sync, .consumer = R::fragment_load, .lc_consumer = 1, .producer_ordinal = 1},
      {.producer = R::fragment_load,
       .consumer = R::sync,
       .kind = DepKind::anti,
       .lc_producer = 0,
       .consumer_ordinal = 0},
      {.producer = R::fragment_load, .consumer = R::compute, .distance = 1, .lc_producer = 1, .lc_consumer = 1},
      {.producer = R::global_load, .consumer = R::shared_store, .distance = 1},
      {.producer = R::fragment_load,
       .consumer = R::shared_store,
       .kind = DepKind::anti,
       .distance = 1,
       .lc_producer = 1},
  };
}

// Output order: rule, producer, consumer. The half of an op is its position in the body.
constexpr List<DepEdge> apply_edge_rules(const List<OpDesc>& ops, const List<EdgeRule>& rules,
                                         const PipelineConfig& config) {
  const int n = int(ops.size());
  List<int> ordinal(ops.size(), 0);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) ordinal[i] += ops[j].role == ops[i].role;
  const auto half = [n](int i) { return int(i >= n / 2); };
  const auto fits = [](int wanted, int value) { return wanted < 0 || wanted == value; };
  const auto carried = [&](int i) { return int(ops[i].subtile == config.loop_carried.selector); };

  List<DepEdge> edges;
  for (const EdgeRule& r : rules) {
    for (int p = 0; p < n; ++p) {
      const OpDesc& from = ops[p];
      if (from.role != r.producer || !fits(r.producer_ordinal, ordinal[p]) || !fits(r.lc_producer, carried(p)) ||
          !fits(r.producer_half, half(p))) {
        continue;
      }
      for (int c = 0; c < n; ++c) {
        const OpDesc& to = ops[c];
        if (c == p || to.role != r.consumer || !fits(r.consumer_ordinal, ordinal[c]) ||
            !fits(r.lc_consumer, carried(c)) || (r.match_channel && from.channel != to.channel) ||
            (r.match_stage && from.stage != to.stage) || (r.match_subtile && from.subtile != to.subtile) ||
            (r.same_half && half(p) != half(c)) || (r.cross_half && half(p) == half(c))) {
          continue;
        }
        if (r.use_config_match &&
            ((half(c) == 0) != (from.stage == 0) || config.match_key(to, from.channel) != from.subtile)) {
          continue;
        }
        if (r.k_filter != KFilter::any && (r.k_filter == KFilter::only_k_prev) != (to.k_offset == KOffset::k_prev)) {
          continue;
        }
        const int distance = r.distance == kDistanceFromKOffset ? int(from.k_offset != KOffset::k_prev) : r.distance;
        edges.push_back({p, c, r.kind, distance});
        if (r.first_match_only) break;
      }
    }
  }
  return edges;
}

// The 4-wave schedule reads two fragments of the other stage in each half.
constexpr List<DepEdge> rotation_edges(const List<OpDesc>& ops) {
  const int n = int(ops.size());
  const auto half = [n](int i) { return int(i >= n / 2); };
  List<DepEdge> edges;
  for (int f = 0; f < n; ++f) {
    const OpDesc& frag = ops[f];
    if (frag.role != OpRole::fragment_load || frag.subtile != 0 || frag.stage == half(f)) continue;
    for (int m = 0; m < n; ++m) {
      const OpDesc& mma = ops[m];
      if (mma.role != OpRole::compute || (frag.channel == 0 ? mma.stage : mma.subtile) != 0) continue;
      if (half(m) != half(f)) {
        edges.push_back({f, m, DepKind::flow, half(f)});
      } else {
        edges.push_back({m, f, DepKind::anti, 0});
      }
    }
  }
  return edges;
}

}  // namespace warpwright::schedule::legacy
