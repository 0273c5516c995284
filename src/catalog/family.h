// A family of kernels: one template, its configuration, and the words of its names. Each family is defined in the file
// of its architecture.
#pragma once
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "catalog/instance.h"
#include "catalog/words.h"
#include "warpwright/core/dtype.h"
#include "warpwright/epilogue/config.h"

namespace warpwright::catalog {

template <class C>
struct Family {
  std::string word;     // the word that begins the name of a plan
  std::string header;   // the kernel's header, below warpwright/kernel/
  std::string kernel;   // the template, in namespace warpwright::kernel
  std::string config;   // the configuration's type, in namespace warpwright
  std::string example;  // a plan, for the sentence that refuses another one
  Words<C> plan, features;
  // Called before the words of a plan are read: fields that have no word get their usual values, and those that must be
  // known later get a mark.
  std::function<void(C&)> begin = [](C&) {};
  // After all words are read.
  std::function<void(C&)> finish = [](C&) {};
};

// One for each alternative of Config.
template <class C>
const Family<C>& family();
template <>
const Family<DenseGemmConfig>& family();
template <>
const Family<SkinnyGemmConfig>& family();
template <>
const Family<GroupedGemmConfig>& family();
template <>
const Family<SkinnyBlockwiseConfig>& family();
template <>
const Family<DenseGemmSm100Config>& family();
template <>
const Family<BlockwiseFp8Sm100Config>& family();
template <>
const Family<GroupedGemmSm100Config>& family();
template <>
const Family<MmaSyncGemmConfig>& family();
template <>
const Family<CdnaMatmulConfig>& family();
template <>
const Family<RingCopyConfig>& family();
template <>
const Family<ClusterRingConfig>& family();
template <>
const Family<TmemLifecycleConfig>& family();
template <>
const Family<PackRowsConfig>& family();
template <>
const Family<RouteConfig>& family();
template <>
const Family<CombineConfig>& family();

// The value of a table of core/words.h that has this word.
template <class E, size_t N>
std::optional<E> read_word(const E (&all)[N], std::string_view word) {
  for (const E value : all)
    if (word == name(value)) return value;
  return {};
}
inline std::optional<DType> read_dtype(std::string_view word) { return read_word(kDTypes, word); }

// A word of a table that has one for each value.
template <class T, size_t N>
struct WordTable {
  struct Row {
    T value;
    const char* word;
  };
  Row rows[N];
  std::string print(T value) const {
    for (const Row& r : rows)
      if (r.value == value) return r.word;
    return "?";
  }
  std::optional<T> read(std::string_view word) const {
    for (const Row& r : rows)
      if (word == r.word) return r.value;
    return {};
  }
};

inline constexpr WordTable<TileOrder, 5> kRasters{{{TileOrder::serpentine, "serpentine"},
                                                   {TileOrder::grouped, "grouped"},
                                                   {TileOrder::row_major, "rows"},
                                                   {TileOrder::column_major, "columns"},
                                                   {TileOrder::hilbert, "hilbert"}}};

// A field whose words are those of core/words.h.
template <class C, class E, size_t N>
void add_words(Words<C>& words, const E (&all)[N], E C::*member, E usual, std::string prefix = "") {
  words.rule([=](const C& c) { return c.*member == usual ? std::string() : prefix + name(c.*member); },
             [=, &all](C& c, std::string_view word) {
               if (!word.starts_with(prefix)) return false;
               const auto value = read_word(all, word.substr(prefix.size()));
               if (value && *value != usual) c.*member = *value;
               return value && *value != usual;
             });
}
template <class C, class T, size_t N>
void add_table(Words<C>& words, const WordTable<T, N>& table, T C::*member, T usual, std::string prefix = "") {
  words.rule([=](const C& c) { return c.*member == usual ? std::string() : prefix + table.print(c.*member); },
             [=](C& c, std::string_view word) {
               if (!word.starts_with(prefix)) return false;
               const auto value = table.read(word.substr(prefix.size()));
               if (value) c.*member = *value;
               return value.has_value();
             });
}

// "128x256": always there.
template <class C>
void add_pair(Words<C>& words, int C::*first, int C::*second) {
  words.rule([=](const C& c) { return fmt::format("{}x{}", c.*first, c.*second); },
             [=](C& c, std::string_view word) {
               const auto pair = read_pair(word);
               if (pair) c.*first = pair->first, c.*second = pair->second;
               return pair.has_value();
             });
  words.required();
}
// "c2", "c2n", "c2x4": CTAs of a cluster and the side along which they lie, or two rows of four. Never left out.
template <class C>
void add_cluster(Words<C>& words) {
  words.rule(
      [](const C& c) {
        if constexpr (requires { c.across; }) {
          if (c.across > 1) return fmt::format("c{}x{}", c.cluster_m(), c.across);
        }
        return fmt::format("c{}{}", c.cluster, c.cluster > 1 && c.axis == ClusterAxis::n ? "n" : "");
      },
      [](C& c, std::string_view word) {
        if constexpr (requires { c.across; }) {
          const auto pair = word.starts_with('c') ? read_pair(word.substr(1)) : std::nullopt;
          if (pair && pair->first > 1 && pair->second > 1) {
            c.cluster = pair->first * pair->second;
            c.across = pair->second;
            return true;
          }
        }
        const bool along_n = word.ends_with('n');
        const auto count = read_number_after("c", along_n ? word.substr(0, word.size() - 1) : word);
        if (!count) return false;
        c.cluster = *count;
        c.axis = along_n ? ClusterAxis::n : ClusterAxis::m;
        return true;
      });
}
template <class C>
void add_split(Words<C>& words) {
  words.value("splitk", &C::split, DepthSplit::split_k).value("streamk", &C::split, DepthSplit::stream_k);
}

// "nt" where A and B are both stored along k, which some families do not say.
template <class C>
void add_layout(Words<C>& words, bool says_nt) {
  words.rule(
      [=](const C& c) {
        const bool a = c.a_major == Major::K, b = c.b_major == Major::K;
        return std::string(a ? (b ? (says_nt ? "nt" : "") : "nn") : (b ? "tt" : "tn"));
      },
      [=](C& c, std::string_view word) {
        if (word.size() != 2 || word.find_first_not_of("nt") != std::string_view::npos) return false;
        if (word == "nt" && !says_nt) return false;
        c.a_major = word[0] == 'n' ? Major::K : Major::MN;
        c.b_major = word[1] == 't' ? Major::K : Major::MN;
        return true;
      });
}

// A type that is written only where it is not the usual one: "c", "c_fp32".
template <class C>
void add_typed(Words<C>& words, std::string word, bool EpilogueConfig::*is, DType EpilogueConfig::*type) {
  words.rule(
      [=](const C& c) {
        const EpilogueConfig& e = c.epilogue;
        if (!(e.*is)) return std::string();
        return e.*type == EpilogueConfig{}.*type ? word : word + "_" + name(e.*type);
      },
      [=](C& c, std::string_view given) {
        EpilogueConfig& e = c.epilogue;
        if (given == word) return e.*is = true;
        if (!given.starts_with(word + "_")) return false;
        const auto t = read_dtype(given.substr(word.size() + 1));
        if (t) e.*is = true, e.*type = *t;
        return t.has_value();
      });
}
// "own" and the sixteen digits of the number of its text. `own_of` gives the field.
template <class C, class OwnOf>
void add_own(Words<C>& words, OwnOf own_of) {
  words.rule([=](const C& c) { return own_of(c) == 0 ? std::string() : fmt::format("own{:016x}", own_of(c)); },
             [=](C& c, std::string_view word) {
               if (word.size() != 19 || !word.starts_with("own")) return false;
               uint64_t id = 0;
               const auto [stop, error] = std::from_chars(word.data() + 3, word.data() + word.size(), id, 16);
               if (error != std::errc() || stop != word.data() + word.size() || id == 0) return false;
               own_of(c) = id;
               return word == fmt::format("own{:016x}", id);
             });
}
// Everything between a sum and D but the factor and the type of D.
template <class C>
void add_epilogue_nodes(Words<C>& words) {
  add_typed<C>(words, "c", &EpilogueConfig::source, &EpilogueConfig::source_type);
  words.rule(
      [](const C& c) {
        const EpilogueConfig& e = c.epilogue;
        if (e.bias == Bias::none) return std::string();
        return std::string(name(e.bias)) + (e.bias_type == DType::fp32 ? "" : std::string("_") + name(e.bias_type));
      },
      [](C& c, std::string_view word) {
        EpilogueConfig& e = c.epilogue;
        const Bias kind = word.starts_with("row_") ? Bias::per_row : Bias::per_column;
        if (kind == Bias::per_row) word.remove_prefix(4);
        if (!word.starts_with("bias")) return false;
        word.remove_prefix(4);
        if (!word.empty() && !word.starts_with("_")) return false;
        const auto type = word.empty() ? DType::fp32 : read_dtype(word.substr(1));
        if (type) e.bias = kind, e.bias_type = *type;
        return type.has_value();
      });
  words.rule(
      [](const C& c) {
        return std::string(c.epilogue.activation == Activation::none ? "" : name(c.epilogue.activation));
      },
      [](C& c, std::string_view word) {
        const auto a = read_word(kActivations, word);
        if (!a || *a == Activation::none) return false;
        c.epilogue.activation = *a;
        return true;
      });
  add_typed<C>(words, "residual", &EpilogueConfig::residual, &EpilogueConfig::residual_type);
  words.rule([](const C& c) { return std::string(c.epilogue.quantize ? "quantize" : ""); },
             [](C& c, std::string_view word) { return word == "quantize" && (c.epilogue.quantize = true); });
  add_own<C>(
      words, [](auto& c) -> auto& { return c.epilogue.own; });
}
template <class C>
void add_epilogue(Words<C>& words) {
  words.rule([](const C& c) { return std::string(c.epilogue.alpha ? "" : "no_alpha"); },
             [](C& c, std::string_view word) { return word == "no_alpha" && (c.epilogue.alpha = false, true); });
  add_epilogue_nodes(words);
}
// "to_fp32", where D has another type than such operands usually give. The operands' type is read first.
template <class C, class Get, class Set>
void add_out(Words<C>& words, Get get, Set set) {
  words.rule(
      [=](const C& c) { return get(c) == usual_result(c.type) ? std::string() : std::string("to_") + name(get(c)); },
      [=](C& c, std::string_view word) {
        if (!word.starts_with("to_")) return false;
        const auto type = read_dtype(word.substr(3));
        if (type) set(c, *type);
        return type.has_value();
      });
}

// The type of the operands, and that of the result where it is another than they usually give, of configurations that
// have both as fields.
template <class C>
void add_types(Words<C>& words) {
  words.rule([](const C& c) { return std::string(name(c.type)); },
             [](C& c, std::string_view word) {
               const auto type = read_dtype(word);
               if (type) c.type = *type, c.out_type = usual_result(*type);
               return type.has_value();
             });
  add_out<C>(
      words, [](const C& c) { return c.out_type; }, [](C& c, DType type) { c.out_type = type; });
}

}  // namespace warpwright::catalog
