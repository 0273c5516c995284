// The launch that the simulator was given, in the words in which the recorder writes one down.
#pragma once
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catalog/instance.h"
#include "launch/tensor_map.h"
#include "simulate/prepared.h"

namespace warpwright::recorded {

// The simulator's encoder, which also remembers what every map was made of.
class RememberingEncoder final : public launch::MapEncoder {
 public:
  Status encode(const launch::TensorMapSpec& spec, TensorMap& map) const override;
  Status set_address(TensorMap& map, const void* address) const override;
  const launch::TensorMapSpec* find(const TensorMap& map) const;

 private:
  using Content = std::array<uint64_t, 16>;
  mutable std::map<Content, launch::TensorMapSpec> specs_;
};

// Memory by its name: that of an array of the workload, and "memory 1", "memory 2" in the order in which they are met
// for all else.
class Places {
 public:
  void add(const std::string& name, const void* begin, size_t bytes);
  // {"in": "a", "offset": 16}; null where nothing lies there.
  nlohmann::json of(uint64_t address);

 private:
  struct Range {
    std::string name;
    uint64_t begin = 0, end = 0;
  };
  std::vector<Range> ranges_;
  int others_ = 0;
};

// Grid, block, shared bytes, cluster, arguments.
nlohmann::json launch_of(const catalog::Instance& instance, unsigned ctas, const void* arguments, size_t bytes,
                         Places& places, const RememberingEncoder& maps);
// The same of a line of the recorder; `early` becomes whether it may start before the launch ahead has ended.
nlohmann::json launch_of(const nlohmann::json& line, const std::map<int, uint64_t>& buffers, Places& places,
                         bool& early);

// The addresses of allocations by their numbers, from the lines of the recorder.
std::map<int, uint64_t> buffers_in(const std::vector<nlohmann::json>& lines);

}  // namespace warpwright::recorded
