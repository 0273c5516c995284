// Instances of the catalogue as parameters of tests: the log shows their names.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "catalog/instance.h"

namespace warpwright {

// The names of the catalogue that `wanted` accepts, in its order.
template <class Wanted>
std::vector<std::string> names_where(Wanted wanted) {
  std::vector<std::string> list;
  for (const catalog::Instance& instance : catalog::ahead()) {
    if (wanted(instance)) list.push_back(catalog::name_of(instance));
  }
  return list;
}

inline catalog::Instance instance_named(const std::string& name) { return *catalog::parse_instance(name); }

// "sm90/dense-128x256-c2-s4/bf16-nt" as sm90_dense_128x256_c2_s4_bf16_nt: a test's name has no other characters.
inline std::string test_word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
inline std::string test_name(const testing::TestParamInfo<std::string>& info) { return test_word(info.param); }

}  // namespace warpwright
