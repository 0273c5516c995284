#include "catalog/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "catalog/family.h"

namespace warpwright::catalog {
namespace {

constexpr std::string_view kSplitWord = "splitk";

std::optional<Arch> read_arch(std::string_view word) {
  for (const Arch arch : {Arch::sm80, Arch::sm90, Arch::sm100, Arch::gfx942, Arch::gfx950})
    if (word == name(arch)) return arch;
  return {};
}

// Calls f with a default configuration of each family of an architecture, until f returns true.
template <class F>
bool any_family(Arch arch, F&& f) {
  const auto each = [&]<class C>(C config) {
    if constexpr (std::is_same_v<C, CdnaMatmulConfig>) config.arch = is_cdna(arch) ? arch : Arch::gfx950;
    if constexpr (std::is_same_v<C, RouteConfig> || std::is_same_v<C, CombineConfig>) {
      config.arch = arch == Arch::sm100 ? arch : Arch::sm90;
    }
    return arch_of(Config(config)) == arch && f(config);
  };
  const auto all = [&]<class... C>(std::type_identity<std::variant<C...>>) { return (each(C{}) || ...); };
  return all(std::type_identity<Config>{});
}

// "-splitk4" as "-splitk" and 4: the parts are the launch's business, not the kernel's.
std::string take_splits(std::string_view plan, int& splits) {
  std::string text;
  for (const std::string_view word : split(plan, '-')) {
    const auto parts = word.size() > kSplitWord.size() ? read_number_after(kSplitWord, word) : std::nullopt;
    if (parts) splits = *parts;
    text.append(text.empty() ? "" : "-").append(parts ? kSplitWord : word);
  }
  return text;
}

std::string with_splits(std::string plan, int splits) {
  if (splits == 0) return plan;
  const size_t at = plan.rfind(fmt::format("-{}", kSplitWord));
  if (at != std::string::npos) plan.insert(at + 1 + kSplitWord.size(), std::to_string(splits));
  return plan;
}

Status unknown_word(std::string_view name, std::string_view word, std::string_view what, std::string_view example) {
  if (word.empty()) {
    return Status(Code::invalid_argument,
                  fmt::format("plan = {}: it is only a part of {}; one is written like {}.", name, what, example));
  }
  return Status(Code::invalid_argument,
                fmt::format("plan = {}: '{}' is not a word of {}; one is written like {}.", name, word, what, example));
}

// The words of a plan and of its features into a configuration that has the features' defaults already.
template <class C>
Status read(C& config, std::string_view whole, std::string_view plan, std::optional<std::string_view> features,
            int& splits) {
  const Family<C>& f = family<C>();
  f.begin(config);
  if (features) {
    if (const auto word = f.features.read(config, *features)) {
      return unknown_word(whole, *word, "the features of such an instance", f.features.print(C{}));
    }
  }
  const std::string words = take_splits(plan.substr(std::min(plan.size(), f.word.size() + 1)), splits);
  if (const auto word = f.plan.read(config, words)) {
    return unknown_word(whole, *word, fmt::format("a {} plan", f.word), f.example);
  }
  f.finish(config);
  return {};
}

std::string_view first_word(std::string_view plan) { return plan.substr(0, plan.find('-')); }

Status no_family(std::string_view name, std::string_view plan, Arch arch) {
  std::string words;
  any_family(arch, [&]<class C>(const C&) {
    words.append(words.empty() ? "" : ", ").append(family<C>().example);
    return false;
  });
  return Status(Code::invalid_argument,
                fmt::format("plan = {}: '{}' is not a word that begins a plan for {}; plans are written like {}.", name,
                            first_word(plan), warpwright::name(arch), words));
}

}  // namespace

std::string plan_name(const Instance& instance) {
  return std::visit(
      [&]<class C>(const C& c) {
        const Family<C>& f = family<C>();
        return with_splits(fmt::format("{}-{}", f.word, f.plan.print(c)), instance.splits);
      },
      instance.config);
}
std::string name_without_stages(const std::string& plan) {
  const auto digit = [&](size_t at) { return at < plan.size() && plan[at] >= '0' && plan[at] <= '9'; };
  size_t word = plan.find("-s");
  while (word != std::string::npos && !digit(word + 2)) word = plan.find("-s", word + 2);
  if (word == std::string::npos) return plan;
  size_t end = word + 2;
  while (digit(end)) ++end;
  return plan.substr(0, word) + plan.substr(end);
}
std::string features_name(const Instance& instance) {
  return std::visit([]<class C>(const C& c) { return family<C>().features.print(c); }, instance.config);
}
std::string name_of(const Instance& instance) {
  return fmt::format("{}/{}/{}", name(arch_of(instance)), plan_name(instance), features_name(instance));
}
std::string image_name(const Instance& instance) { return name_of({instance.config, 0}); }

Result<Instance> parse_instance(std::string_view name) {
  const auto parts = split(name, '/');
  const auto arch = parts.empty() ? std::nullopt : read_arch(parts[0]);
  if (parts.size() != 3 || !arch) {
    return Status(Code::invalid_argument,
                  fmt::format("plan = {}: an instance is written like sm90/dense-128x256-c2-s4/bf16-nt.", name));
  }
  Instance instance;
  Status status;
  const bool found = any_family(*arch, [&]<class C>(C config) {
    if (first_word(parts[1]) != family<C>().word) return false;
    status = read(config, name, parts[1], parts[2], instance.splits);
    instance.config = config;
    return true;
  });
  if (!found) return no_family(name, parts[1], *arch);
  if (!status) return status;
  return instance;
}

Result<Instance> parse_plan(std::string_view plan, const Instance& like) {
  const Arch arch = arch_of(like);
  Instance instance;
  Status status;
  const bool found = any_family(arch, [&]<class C>(C config) {
    if (first_word(plan) != family<C>().word) return false;
    const C* const same = like.as<C>();
    const std::string features =
        same != nullptr ? family<C>().features.print(*same) : family<C>().features.print(config);
    status = read(config, plan, plan, features, instance.splits);
    instance.config = config;
    return true;
  });
  if (!found) return no_family(plan, plan, arch);
  if (!status) return status;
  return instance;
}

uint64_t own_of(const Instance& instance) {
  return std::visit(
      []<class C>(const C& c) -> uint64_t {
        if constexpr (requires { c.epilogue.own; }) return c.epilogue.own;
        if constexpr (requires { c.own; }) return c.own;
        return 0;
      },
      instance.config);
}

Status check_formula(const Instance& instance) {
  if (own_of(instance) == 0 || !instance.formula.empty()) return {};
  return Status(
      Code::unsupported,
      fmt::format("plan = {}: its epilogue is a formula, and the name has only its number; gemm --epilogue runs and "
                  "checks it by its text.",
                  name_of(instance)));
}

Status refuse(const Instance& instance) {
  const char* why = std::visit(
      []<class C>(const C& c) -> const char* {
        if constexpr (requires { warpwright::refuse(c); }) return warpwright::refuse(c);
        return nullptr;
      },
      instance.config);
  // Hopper's rules say beforehand how many stages fit; what a block of Blackwell needs, its plan says.
  if (why == nullptr && arch_of(instance) == Arch::sm100 && !block_plan(instance).shared_memory_fits()) {
    why = "the stages of the rings exceed the shared memory of a CTA";
  }
  // How deep the ring of mma.sync is, its schedule says.
  if (const auto* c = instance.as<MmaSyncGemmConfig>(); why == nullptr && c != nullptr) {
    if (!mma_sync_pipeline(c->order()).ok()) {
      why = "there is no schedule for this tile, depth and latency";
    } else if (!block_plan(instance).shared_memory_fits()) {
      why = "the rings of so many blocks exceed the shared memory of an SM";
    }
  }
  if (why != nullptr) return Status(Code::unsupported, fmt::format("plan = {}: {}.", plan_name(instance), why));
  return {};
}

std::string kernel_of(const Instance& instance) {
  // "sm90/dense/dense_gemm.h" is the story of dense_gemm.
  const std::string header = std::visit([]<class C>(const C&) { return family<C>().header; }, instance.config);
  const size_t begin = header.rfind('/') + 1;
  return header.substr(begin, header.size() - begin - 2);
}

std::vector<std::string> nearest_names(std::string_view name, size_t count, std::optional<Arch> arch) {
  // The edit distance of two names, counted in characters.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t(0));
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = std::exchange(row[0], i);
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
        diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
      }
    }
    return row.back();
  };
  // How far, its place in the lists, the name.
  std::vector<std::tuple<size_t, size_t, std::string>> all;
  std::vector<std::string> listed = ahead_names();
  for (const Instance& instance : cdna_instances()) listed.push_back(name_of(instance));
  for (const std::string& known : listed) {
    const auto parts = split(known, '/');
    if (arch && parts[0] != warpwright::name(*arch)) continue;
    // Someone who writes a plan means the plan.
    const bool plan_only = name.find('/') == std::string_view::npos;
    const std::string text(plan_only ? parts[1] : std::string_view(known));
    if (std::none_of(all.begin(), all.end(), [&](const auto& other) { return std::get<2>(other) == text; }))
      all.emplace_back(distance(name, text), all.size(), text);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, all.size()); ++i) names.push_back(std::get<2>(all[i]));
  return names;
}

}  // namespace warpwright::catalog
