#include "simulate/examples.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "catalog/instance.h"
#include "simulate/families.h"
#include "simulate/product.h"

namespace warpwright::simulate {

void describe(Example& e, std::span<const Known> list, const char* summary, std::vector<reference::Case> otherwise) {
  e.summary = summary;
  for (const Known& k : list) {
    if (e.name != k.name) continue;
    e.summary = k.summary;
    e.cases = k.cases;
  }
  if (!e.cases.empty()) return;
  std::copy_if(otherwise.begin(), otherwise.end(), std::back_inserter(e.cases),
               [&](reference::Case c) { return e.takes(c).ok(); });
}

namespace {

Example required(Result<Example> e) {
  // The lists are part of the program: an instance that cannot be an example is found by the first test that runs.
  if (!e) throw std::logic_error(e.status().message());
  return std::move(*e);
}

// One configuration, other problems: its name says which.
Example any_columns() {
  const auto instance = catalog::parse_instance("sm100/dense-128x128-c1x1-s6/bf16");
  Example e = required(example_of(*instance));
  complete_any_columns(e, *instance);
  return e;
}

}  // namespace

const std::vector<Example>& examples() {
  static const std::vector<Example> list = [] {
    std::vector<Example> all;
    for (const catalog::Instance& instance : catalog::ahead()) {
      if (has_example(instance)) all.push_back(required(example_of(instance)));
    }
    all.push_back(any_columns());
    for (const catalog::Instance& instance : catalog::cdna_instances()) {
      if (has_example(instance)) all.push_back(required(example_of(instance)));
    }
    return all;
  }();
  return list;
}

const Example* find_example(const std::string& name) {
  for (const Example& e : examples())
    if (name == e.name) return &e;
  return nullptr;
}

}  // namespace warpwright::simulate
