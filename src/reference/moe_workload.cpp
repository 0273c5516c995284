#include "reference/moe_workload.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "reference/dot.h"
#include "reference/own_epilogue.h"
#include "reference/workload_parts.h"
#include "warpwright/kernel/sm90/grouped/grouped_epilogue.h"

namespace warpwright::reference {
namespace {

constexpr double kUntouched = std::numeric_limits<double>::quiet_NaN();

template <class T>
Array words_of(const char* name, const std::vector<T>& values, int64_t room = -1) {
  const int64_t words = int64_t(values.size() * sizeof(T) / 4);
  Array a = new_array(name, DType::fp32, 1, std::max(room, words));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), values.size() * sizeof(T));
  return a;
}
// Written by the kernel over what it does not know.
Array written(Array a, uint8_t before) {
  std::fill(a.bytes.begin(), a.bytes.end(), before);
  a.scratch = true;
  return a;
}
Array ids_array(const Routing& r, int id_bytes) {
  if (id_bytes == 8) return words_of("ids", r.ids);
  std::vector<int32_t> narrow;
  for (const int64_t id : r.ids) narrow.push_back(int32_t(id));
  return words_of("ids", narrow);
}
Array token_count_array(const Routing& r) {
  return words_of("token_count", std::vector<uint32_t>{uint32_t(r.token_count)});
}
// For pair j of a token: its expert, -1 if there is no such pair.
int64_t expert_of(const Routing& r, int64_t token, int64_t j) {
  if (token >= r.live()) return -1;
  if (j >= r.top_k) return r.experts - r.shared + j - r.top_k;
  const int64_t id = r.ids[size_t(token * r.top_k + j)];
  return id >= 0 && id < r.experts - r.shared ? id : -1;
}
float weight_of(const Routing& r, int64_t token, int64_t j) {
  if (j < r.top_k) return r.weights[size_t(token * r.top_k + j)];
  return r.shared_weights.empty() ? 1 : r.shared_weights[size_t(token * r.shared + j - r.top_k)];
}
bool counts(const Routing& r, int64_t token, int64_t j) {
  return expert_of(r, token, j) >= 0 && !std::isnan(weight_of(r, token, j));
}
// The weights, and which other arrays say who counts.
void put_weights(const Routing& r, Workload& w) {
  w.arrays.push_back(words_of("weights", r.weights));
  if (!r.shared_weights.empty()) w.arrays.push_back(words_of("shared_weights", r.shared_weights));
  if (r.token_count >= 0) w.arrays.push_back(token_count_array(r));
}

// Lines that must not be used: every bit is set, a NaN in each of the types.
void spoil_lines(Array& a, int64_t first, int64_t count) {
  const size_t bytes = a.rows > 0 ? a.bytes.size() / size_t(a.rows) : 0;
  std::fill_n(a.bytes.begin() + std::ptrdiff_t(size_t(first) * bytes), size_t(count) * bytes, uint8_t(0xff));
}

std::vector<double> scaled_elements(const Array& a, const Array* scales, int64_t rows_with_one) {
  std::vector<double> x(size_t(a.rows * a.columns));
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.columns; ++c) {
      const double f = scales == nullptr ? 1 : element(*scales, r / rows_with_one * scales->columns + c / kScaleBlock);
      x[size_t(r * a.columns + c)] = element(a, r * a.columns + c) * f;
    }
  }
  return x;
}

// The type of what is between the products: bf16, or e4m3 with a scale for 128.
void round_between(std::vector<double>& h, DType type) {
  if (type != DType::e4m3) {
    for (double& x : h) x = rounded(DType::bf16, x);
    return;
  }
  for (size_t first = 0; first < h.size(); first += kScaleBlock) {
    double largest = 0;
    for (size_t i = first; i < first + kScaleBlock; ++i) largest = std::max(largest, std::fabs(h[i]));
    const double scale = epilogue::scale_of_block(float(largest));
    for (size_t i = first; i < first + kScaleBlock; ++i) h[i] = rounded(DType::e4m3, h[i] / scale) * scale;
  }
}

}  // namespace

Routing drawn_routing(int64_t tokens, int64_t top_k, int64_t experts, Draw draw, Data data, uint64_t seed) {
  Routing r{tokens, top_k, experts, {}, {}, -1};
  std::mt19937_64 random(seed * 977 + 5);
  const auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  for (int64_t t = 0; t < tokens; ++t) {
    double sum = 0;
    std::vector<double> raw;
    for (int64_t j = 0; j < top_k; ++j) {
      int64_t e = below(experts);
      if (draw == Draw::skewed && below(4) != 0) e = below(std::max<int64_t>(1, experts / 8));
      if (draw == Draw::skewed && experts > 1 && e % 5 == 4) --e;
      if (draw == Draw::one) e = experts - 1;
      r.ids.push_back(e);
      raw.push_back(data == Data::integers ? std::ldexp(1.0, int(below(3)) - 1) : 0.05 + double(below(1000)) / 1000);
      sum += raw.back();
    }
    for (const double w : raw) r.weights.push_back(float(data == Data::integers ? w : w / sum));
  }
  if (draw != Draw::bad) return r;
  const int64_t wrong[] = {-1, experts, -7, int64_t(experts) + 1000, INT32_MIN, INT32_MAX};
  // Right numbers follow the wrong ones, so that the last that somebody looks at does not decide.
  const size_t first = std::min(r.ids.size(), std::max<size_t>(20, r.ids.size() / 16));
  for (size_t i = 1; i < first; i += 5) r.ids[i] = wrong[i / 5 % std::size(wrong)];
  for (size_t i = 3; i < first; i += 7) r.weights[i] = std::numeric_limits<float>::quiet_NaN();
  r.token_count = tokens + 1;
  return r;
}

Routing with_shared(Routing r, int64_t shared, bool weights, Data data, uint64_t seed) {
  r.shared = shared;
  r.experts += shared;
  if (!weights) return r;
  const bool bad = std::any_of(r.weights.begin(), r.weights.end(), [](float w) { return std::isnan(w); });
  std::mt19937_64 random(seed * 991 + 3);
  for (int64_t i = 0; i < r.tokens * shared; ++i) {
    const auto drawn = int(random() % 1000);
    r.shared_weights.push_back(float(data == Data::integers ? std::ldexp(1.0, drawn % 3 - 1) : 0.05 + drawn / 1000.0));
    if (bad && i % 6 == 4) r.shared_weights.back() = std::numeric_limits<float>::quiet_NaN();
  }
  return r;
}

RoutingTables tables_of(const Routing& r) {
  RoutingTables t;
  t.slots.assign(size_t(r.tokens * r.each()), -1);
  for (int64_t e = 0; e < r.experts; ++e) {
    t.offsets.push_back(uint32_t(t.index.size()));
    for (int64_t token = 0; token < r.live(); ++token) {
      for (int64_t j = 0; j < r.each(); ++j) {
        if (expert_of(r, token, j) != e) continue;
        t.slots[size_t(token * r.each() + j)] = int32_t(t.index.size());
        t.index.push_back(int32_t(token));
      }
    }
  }
  t.offsets.push_back(uint32_t(t.index.size()));
  for (int64_t token = 0; token < r.live(); ++token) {
    for (int64_t j = 0; j < r.each(); ++j) {
      if (expert_of(r, token, j) < 0) t.status |= kExpertOutOfRange;
      if (std::isnan(weight_of(r, token, j))) t.status |= kWeightNotANumber;
    }
  }
  if (r.token_count > r.tokens) t.status |= kTokensOutOfRange;
  return t;
}

Workload route_workload(Routing r, int id_bytes, uint64_t seed) {
  // Experts that would be there if their lower halves were all that counts.
  for (int64_t& id : r.ids) {
    if (id_bytes == 8 && id == INT32_MAX) id = int64_t(1) << 32;
  }
  const RoutingTables t = tables_of(r);
  const int64_t pairs = r.tokens * r.each();
  Workload w;
  w.shape = {r.tokens, r.experts, r.each()};
  w.seed = seed;
  w.arrays.push_back(ids_array(r, id_bytes));
  put_weights(r, w);
  constexpr uint8_t before = 0x5a;  // neither a row nor -1
  Array index = written(words_of("index", std::vector<int32_t>(), pairs), before);
  w.also.push_back({"index", index.bytes});
  if (!t.index.empty()) std::memcpy(w.also.back().bytes.data(), t.index.data(), t.index.size() * 4);
  w.arrays.push_back(std::move(index));
  w.arrays.push_back(written(words_of("slots", t.slots), before));
  w.also.push_back({"slots", words_of("slots", t.slots).bytes});
  w.arrays.push_back(written(words_of("status", std::vector<uint32_t>{0}), before));
  w.also.push_back({"status", words_of("status", std::vector<uint32_t>{t.status}).bytes});
  // Small whole numbers are the bits of tiny floats, which differ as they do.
  Array offsets = words_of("offsets", t.offsets);
  for (int64_t i = 0; i < offsets.columns; ++i) w.expected.push_back(element(offsets, i));
  offsets.output = true;
  poison(offsets);
  w.arrays.push_back(std::move(offsets));
  return w;
}

Workload combine_workload(const Routing& r, int64_t columns, Data data, uint64_t seed) {
  const RoutingTables t = tables_of(r);
  Workload w;
  w.shape = {r.tokens, columns, r.each()};
  w.data = data;
  Array rows = new_array("rows", DType::bf16, r.tokens * r.each(), columns);
  fill(rows, data, seed * 2 + 1);
  // Eight significant bits, so that sums have more.
  for (int64_t i = 0; data == Data::integers && i < rows.rows * rows.columns; ++i) {
    const bf16 fine = from_float<bf16>(float(element(rows, i)) + 0x1p-6f);
    std::memcpy(rows.bytes.data() + size_t(i) * sizeof fine, &fine, sizeof fine);
  }
  for (int64_t token = 0; token < r.tokens; ++token) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < r.each(); ++j) {
        if (!counts(r, token, j)) continue;
        sum += double(weight_of(r, token, j)) * element(rows, t.slots[size_t(token * r.each() + j)] * columns + c);
      }
      w.expected.push_back(token < r.live() ? expected_number(sum) : kUntouched);
    }
  }
  spoil_lines(rows, int64_t(t.index.size()), rows.rows - int64_t(t.index.size()));
  w.arrays.push_back(std::move(rows));
  w.arrays.push_back(words_of("slots", t.slots));
  put_weights(r, w);
  Array out = new_array("out", DType::bf16, r.tokens, columns);
  out.output = true;
  poison(out);
  w.arrays.push_back(std::move(out));
  return w;
}

MoeOperands moe_operands(const MoeProblem& p, Data data, uint64_t seed) {
  const int64_t h_blocks = p.hidden / kScaleBlock, i_blocks = p.intermediate / kScaleBlock;
  MoeOperands o{new_array("x", p.type, p.tokens, p.hidden),
                new_array("w_gate_up", p.type, p.experts * 2 * p.intermediate, p.hidden),
                new_array("w_down", p.type, p.experts * p.hidden, p.intermediate),
                new_scales("x_scales", p.tokens, h_blocks, data, seed * 8 + 4),
                new_scales("w_gate_up_scales", p.experts * 2 * i_blocks, h_blocks, data, seed * 8 + 5),
                new_scales("w_down_scales", p.experts * h_blocks, i_blocks, data, seed * 8 + 6)};
  fill(o.x, data, seed * 8 + 1);
  fill(o.w_gate_up, data, seed * 8 + 2);
  fill(o.w_down, data, seed * 8 + 3);
  return o;
}

Workload moe_workload(const MoeProblem& p, const Routing& r, MoeOperands o) {
  const bool narrow = p.type == DType::e4m3;
  Workload w;
  w.shape = {p.tokens, p.hidden, p.intermediate};
  w.data = Data::normal;  // the results of swiglu are not whole numbers
  w.sum_tolerance = narrow ? 2e-2 : 5e-3;
  const auto xs = scaled_elements(o.x, narrow ? &o.x_scales : nullptr, 1);
  const auto w1 = scaled_elements(o.w_gate_up, narrow ? &o.w_gate_up_scales : nullptr, kScaleBlock);
  const auto w2 = scaled_elements(o.w_down, narrow ? &o.w_down_scales : nullptr, kScaleBlock);
  std::vector<double> out(size_t(p.tokens * p.hidden), kUntouched), h(size_t(p.intermediate));
  std::vector<bool> used(size_t(p.experts), false), read(size_t(p.tokens), false);
  for (int64_t token = 0; token < r.live(); ++token) {
    double* const sum = out.data() + token * p.hidden;
    std::fill_n(sum, p.hidden, 0.0);
    for (int64_t j = 0; j < r.each(); ++j) {
      const int64_t e = expert_of(r, token, j);
      if (e < 0) continue;
      used[size_t(e)] = read[size_t(token)] = true;
      if (!counts(r, token, j)) continue;
      const auto product = [&](int64_t row) {
        return dot(xs.data() + token * p.hidden, w1.data() + (e * 2 * p.intermediate + row) * p.hidden, p.hidden);
      };
      for (int64_t i = 0; i < p.intermediate; ++i) {
        const double gate = product(i);
        h[size_t(i)] = gate / (1 + std::exp(-gate)) * product(p.intermediate + i);
      }
      round_between(h, p.type);
      for (int64_t c = 0; c < p.hidden; ++c) {
        const double y = dot(h.data(), w2.data() + (e * p.hidden + c) * p.intermediate, p.intermediate);
        sum[c] += double(weight_of(r, token, j)) * rounded(DType::bf16, y);
      }
    }
  }
  w.expected = std::move(out);
  // What must not be read.
  for (int64_t t = 0; t < p.tokens; ++t) {
    if (!read[size_t(t)]) spoil_lines(o.x, t, 1);
  }
  for (int64_t e = 0; e < p.experts; ++e) {
    if (used[size_t(e)]) continue;
    spoil_lines(o.w_gate_up, e * 2 * p.intermediate, 2 * p.intermediate);
    spoil_lines(o.w_down, e * p.hidden, p.hidden);
  }
  for (Array* a : {&o.x, &o.w_gate_up, &o.w_down}) w.arrays.push_back(std::move(*a));
  if (narrow) {
    for (Array* a : {&o.x_scales, &o.w_gate_up_scales, &o.w_down_scales}) w.arrays.push_back(std::move(*a));
  }
  w.arrays.push_back(ids_array(r, p.id_bytes));
  put_weights(r, w);
  w.arrays.push_back(written(words_of("status", std::vector<uint32_t>{0}), 0x5a));
  w.also.push_back({"status", words_of("status", std::vector<uint32_t>{tables_of(r).status}).bytes});
  Array d = new_array("out", DType::bf16, p.tokens, p.hidden);
  d.output = true;
  poison(d);
  w.arrays.push_back(std::move(d));
  return w;
}

MoePointers moe_pointers(const Workload& w, const std::vector<void*>& arrays) {
  const auto at = [&](const char* name) { return pointer_of(w, arrays, name); };
  MoePointers p;
  p.x = at("x");
  p.w_gate_up = at("w_gate_up");
  p.w_down = at("w_down");
  p.ids = at("ids");
  p.weights = static_cast<const float*>(at("weights"));
  p.shared_weights = static_cast<const float*>(at("shared_weights"));
  p.out = at("out");
  p.token_count = static_cast<const uint32_t*>(at("token_count"));
  p.status = static_cast<uint32_t*>(at("status"));
  p.x_scales = static_cast<const float*>(at("x_scales"));
  p.w_gate_up_scales = static_cast<const float*>(at("w_gate_up_scales"));
  p.w_down_scales = static_cast<const float*>(at("w_down_scales"));
  return p;
}

}  // namespace warpwright::reference
