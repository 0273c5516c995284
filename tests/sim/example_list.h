// The examples that tests run in every mode.
#pragma once
#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "simulate/examples.h"
#include "simulate/executor.h"

namespace warpwright::example_list {

// Of the Hopper products, those that were compiled into this program: one of each form. Of the other families all; they
// are compiled when they run.
inline bool is_run(const simulate::Example& e) {
  const auto instance = catalog::parse_instance(e.instance);
  const bool product = instance->as<DenseGemmConfig>() != nullptr || instance->as<SkinnyGemmConfig>() != nullptr ||
                       instance->as<GroupedGemmConfig>() != nullptr || instance->as<SkinnyBlockwiseConfig>() != nullptr;
  const auto built_in = simulate::built_in();
  return !product || std::any_of(built_in.begin(), built_in.end(),
                                 [&](const auto& one) { return catalog::image_name(*instance) == one.name; });
}
inline const std::vector<const simulate::Example*>& all() {
  static const std::vector<const simulate::Example*> list = [] {
    std::vector<const simulate::Example*> found;
    for (const simulate::Example& e : simulate::examples())
      if (is_run(e)) found.push_back(&e);
    return found;
  }();
  return list;
}

// In a kernel without synchronization, such as the sum of rows, no order of events has anything to check.
inline bool synchronizes(const simulate::Example& e) { return e.plan->barrier_count + e.plan->named_count > 0; }
// The first of each plan; the others differ in types, majors and epilogues.
inline std::string plan_of(const simulate::Example& e) { return e.instance.substr(0, e.instance.rfind('/')); }
// The first of each family of an architecture: what is true of the simulator shows on any of them.
inline std::string family_of(const simulate::Example& e) { return e.instance.substr(0, e.instance.find('-')); }
template <class Key>
std::vector<const simulate::Example*> one_of_each(Key key) {
  std::vector<const simulate::Example*> found;
  std::set<std::string> seen;
  for (const simulate::Example* e : all())
    if (synchronizes(*e) && seen.insert(key(*e)).second) found.push_back(e);
  return found;
}

// As part of a test's name, which has letters and digits only.
inline std::string test_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace warpwright::example_list
