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

// The whole list in its order: what `of_instance` makes of each instance, and what `other` makes of the one that is
// none.
template <class Made, class OfInstance, class Other>
std::vector<Made> all(const OfInstance& of_instance, const Other& other) {
  std::vector<Made> list;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (has_example(instance)) list.push_back(of_instance(instance));
  }
  list.push_back(other());
  for (const catalog::Instance& instance : catalog::cdna_instances()) {
    if (has_example(instance)) list.push_back(of_instance(instance));
  }
  return list;
}

}  // namespace

const std::vector<Example>& examples() {
  static const std::vector<Example> list =
      all<Example>([](const catalog::Instance& instance) { return required(example_of(instance)); }, any_columns);
  return list;
}

std::vector<std::string> example_names() {
  return all<std::string>([](const catalog::Instance& instance) { return catalog::name_of(instance); },
                          [] { return any_columns().name; });
}

const Example* find_example(const std::string& name) {
  for (const Example& e : examples())
    if (name == e.name) return &e;
  return nullptr;
}

}  // namespace warpwright::simulate
