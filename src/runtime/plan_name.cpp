#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tuned.h"

namespace warpwright::runtime {
namespace {

struct RasterWord {
  TileOrder order;
  const char* word;
};
constexpr RasterWord kRasters[] = {{TileOrder::serpentine, "serpentine"},
                                   {TileOrder::grouped, "grouped"},
                                   {TileOrder::row_major, "rows"},
                                   {TileOrder::column_major, "columns"},
                                   {TileOrder::hilbert, "hilbert"}};
constexpr const char* kHints[] = {"", "first", "last"};  // in the order of CacheHint

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('-', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size() || value < 1 || value > 4096) return {};
  return value;
}
// The number behind a prefix: "s" of "s4".
std::optional<int> number_behind(std::string_view prefix, std::string_view word) {
  return word.starts_with(prefix) ? number(word.substr(prefix.size())) : std::nullopt;
}
bool pair(std::string_view word, int& first, int& second) {
  const size_t x = word.find('x');
  if (x == std::string_view::npos) return false;
  const auto a = number(word.substr(0, x)), b = number(word.substr(x + 1));
  if (!a || !b) return false;
  first = *a;
  second = *b;
  return true;
}

bool read_dense_word(std::string_view word, Kernel& kernel, DenseGemmConfig& c) {
  for (const RasterWord& r : kRasters) {
    if (word == r.word) return c.raster = r.order, true;
  }
  for (int hint = 1; hint < int(std::size(kHints)); ++hint) {
    if (word == fmt::format("a_{}", kHints[hint])) return c.a_hint = CacheHint(hint), true;
    if (word == fmt::format("b_{}", kHints[hint])) return c.b_hint = CacheHint(hint), true;
  }
  if (word == "pingpong") return c.schedule = Schedule::ping_pong, true;
  if (word == "bycolumns") return c.raster_by_columns = true, true;
  if (word == "serial") return c.overlapped = false, true;
  if (word == "streamk") return c.split = DepthSplit::stream_k, true;
  if (const auto n = number_behind("splitk", word)) {
    c.split = DepthSplit::split_k;
    kernel.splits = *n;
    return true;
  }
  if (word.ends_with('n') && number_behind("c", word.substr(0, word.size() - 1))) {
    c.axis = ClusterAxis::n;
    word.remove_suffix(1);
  }
  if (const auto n = number_behind("c", word)) return c.cluster = *n, true;
  if (const auto n = number_behind("s", word)) return c.stages = *n, true;
  if (const auto n = number_behind("o", word)) return c.output_stages = *n, true;
  if (const auto n = number_behind("g", word)) return c.group_rows = *n, true;
  if (const auto n = number_behind("r", word)) return c.raster_group = *n, true;
  if (const auto n = number_behind("p", word)) return c.promote_k = *n, true;
  return false;
}

bool read_skinny_word(std::string_view word, SkinnyGemmConfig& c) {
  if (const auto n = number_behind("split", word)) return c.split = *n, true;
  if (const auto n = number_behind("s", word)) return c.stages = *n, true;
  if (const auto n = number_behind("o", word)) return c.output_stages = *n, true;
  return false;
}

}  // namespace

// The default of a field leaves no word, so a field that is added later does not change the names of today.
std::string plan_name(const Kernel& kernel) {
  if (const SkinnyGemmConfig* c = kernel.skinny()) {
    std::string name = fmt::format("skinny-{}x{}-split{}-s{}", c->rows, c->tokens, c->split, c->stages);
    if (c->output_stages != SkinnyGemmConfig{}.output_stages) name += fmt::format("-o{}", c->output_stages);
    return name;
  }
  const DenseGemmConfig& c = *kernel.dense();
  const DenseGemmConfig usual;
  std::string name = fmt::format("dense-{}x{}-c{}{}-s{}", c.tile_m, c.tile_n, c.cluster,
                                 c.cluster > 1 && c.axis == ClusterAxis::n ? "n" : "", c.stages);
  if (c.output_stages != usual.output_stages) name += fmt::format("-o{}", c.output_stages);
  if (c.group_rows != usual.group_rows) name += fmt::format("-g{}", c.group_rows);
  if (c.schedule == Schedule::ping_pong) name += "-pingpong";
  if (c.raster != usual.raster) {
    for (const RasterWord& r : kRasters)
      if (r.order == c.raster) name += fmt::format("-{}", r.word);
  }
  if (c.raster_by_columns) name += "-bycolumns";
  if (c.raster_group != usual.raster_group) name += fmt::format("-r{}", c.raster_group);
  if (!c.overlapped) name += "-serial";
  if (c.a_hint != CacheHint::normal) name += fmt::format("-a_{}", kHints[int(c.a_hint)]);
  if (c.b_hint != CacheHint::normal) name += fmt::format("-b_{}", kHints[int(c.b_hint)]);
  if (c.promote_k != 0 && c.promote_k != c.tile_k()) name += fmt::format("-p{}", c.promote_k);
  if (c.split == DepthSplit::split_k) name += fmt::format("-splitk{}", kernel.splits);
  if (c.split == DepthSplit::stream_k) name += "-streamk";
  return name;
}

Result<Kernel> parse_plan_name(const std::string& name) {
  const auto words = words_of(name);
  const auto refused = [&](std::string_view word) {
    return Status(Code::invalid_argument,
                  fmt::format("plan = {}: '{}' is not a word of a plan; one is written like dense-128x256-c2-s4 or "
                              "skinny-64x16-split4-s20, or is a number of a plan compiled ahead.",
                              name, word));
  };
  if (words.size() < 2) return refused(words.front());
  Kernel kernel;
  if (words.front() == "dense") {
    DenseGemmConfig c;
    c.cluster = 1;
    if (!pair(words[1], c.tile_m, c.tile_n)) return refused(words[1]);
    bool stages = false;
    for (size_t i = 2; i < words.size(); ++i) {
      if (!read_dense_word(words[i], kernel, c)) return refused(words[i]);
      stages |= number_behind("s", words[i]).has_value();
    }
    kernel.config = stages ? c : deepest(c);
  } else if (words.front() == "skinny") {
    SkinnyGemmConfig c;
    if (!pair(words[1], c.rows, c.tokens)) return refused(words[1]);
    bool stages = false;
    for (size_t i = 2; i < words.size(); ++i) {
      if (!read_skinny_word(words[i], c)) return refused(words[i]);
      stages |= number_behind("s", words[i]).has_value();
    }
    c.stages = stages ? c.stages : 2;  // to be refused, if at all, for something else
    if (const char* why = refuse(c)) return Status(Code::unsupported, fmt::format("plan = {}: {}.", name, why));
    kernel.config = stages ? c : deepest(c);
  } else {
    return refused(words.front());
  }
  return kernel;
}

std::string plan_text(const Kernel& kernel) {
  if (const SkinnyGemmConfig* c = kernel.skinny()) {
    return fmt::format("{} weights x {} tokens x{}, {} stages, split {}", c->rows, c->tokens, c->tile_k(), c->stages,
                       c->split);
  }
  const DenseGemmConfig& c = *kernel.dense();
  std::string text = fmt::format("{}x{}x{}, {} stages, cluster {}{}", c.tile_m, c.tile_n, c.tile_k(), c.stages,
                                 c.cluster, c.cluster > 1 && c.axis == ClusterAxis::n ? " along n" : "");
  if (c.schedule == Schedule::ping_pong) text += ", ping-pong";
  if (c.split == DepthSplit::split_k) text += fmt::format(", k in {} parts", kernel.splits);
  if (c.split == DepthSplit::stream_k) text += ", stream-K";
  if (c.load == Mover::threads) {
    text += ", loaded and stored by threads";
  } else if (c.store == Mover::threads) {
    text += ", stored by threads";
  }
  return text;
}

}  // namespace warpwright::runtime
