#include "driver/expected.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gpu/driver_abi.h"

namespace warpwright::recorded {
namespace {

namespace abi = gpu::abi;
using launch::TensorMapSpec;
using nlohmann::json;

// CUtensorMapDataType
int type_of(const TensorMapSpec& s) {
  switch (s.element) {
    case DType::bf16:
      return 9;
    case DType::fp16:
      return 6;
    case DType::fp32:
      return 7;
    case DType::tf32:
      return 11;
    case DType::e2m1:
      return s.padded ? 14 : 13;
    default:
      return 0;  // bytes
  }
}
// CUtensorMapSwizzle
int swizzle_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::b32:
      return 1;
    case Swizzle::b64:
      return 2;
    case Swizzle::b128:
      return 3;
    case Swizzle::b128_atom32:
      return 4;
  }
  return -1;
}

template <class List>
json some(const List& list, int from, int to) {
  return std::vector(list.begin() + from, list.begin() + to);
}

json text_of(const TensorMapSpec& s, Places& places) {
  return {{"type", type_of(s)},
          {"rank", s.rank},
          {"address", places.of(reinterpret_cast<uint64_t>(s.base))},
          {"dims", some(s.dims, 0, s.rank)},
          {"strides", some(s.strides, 1, s.rank)},
          {"box", some(s.box, 0, s.rank)},
          {"element_strides", std::vector(size_t(s.rank), 1)},
          {"interleave", 0},
          {"swizzle", swizzle_of(s.swizzle)},
          {"l2_promotion", int(s.l2_promotion)},
          {"fill", 0}};
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t b : bytes) text += {"0123456789abcdef"[b / 16], "0123456789abcdef"[b % 16]};
  return text;
}

std::array<uint64_t, 16> content_of(const TensorMap& map) {
  std::array<uint64_t, 16> content;
  std::memcpy(content.data(), &map, sizeof content);
  return content;
}

}  // namespace

Status RememberingEncoder::encode(const TensorMapSpec& spec, TensorMap& map) const {
  if (Status s = simulate::map_encoder().encode(spec, map); !s) return s;
  specs_[content_of(map)] = spec;
  return {};
}
Status RememberingEncoder::set_address(TensorMap& map, const void* address) const {
  TensorMapSpec spec = specs_.at(content_of(map));
  if (Status s = simulate::map_encoder().set_address(map, address); !s) return s;
  spec.base = const_cast<void*>(address);
  specs_[content_of(map)] = spec;
  return {};
}
const TensorMapSpec* RememberingEncoder::find(const TensorMap& map) const {
  const auto found = specs_.find(content_of(map));
  return found == specs_.end() ? nullptr : &found->second;
}

void Places::add(const std::string& name, const void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uint64_t>(begin);
  // An array without elements may be given one element further on, which lies in no array.
  constexpr size_t of_an_element = 8;
  ranges_.push_back({name, at, at + (bytes == 0 ? of_an_element : bytes)});
}
json Places::of(uint64_t address) {
  for (Range& r : ranges_) {
    if (address < r.begin || address >= r.end) continue;
    if (r.name.empty()) r.name = "memory " + std::to_string(++others_);
    return {{"in", r.name}, {"offset", address - r.begin}};
  }
  return nullptr;
}

json launch_of(const catalog::Instance& instance, unsigned ctas, const void* arguments, size_t size, Places& places,
               const RememberingEncoder& encoder) {
  const BlockPlan plan = catalog::block_plan(instance);
  std::vector<uint8_t> bytes(size);
  std::memcpy(bytes.data(), arguments, size);
  json maps = json::array(), addresses = json::array();
  for (size_t at = 0; at + sizeof(TensorMap) <= size; at += alignof(TensorMap)) {
    TensorMap map;
    std::memcpy(&map, bytes.data() + at, sizeof map);
    const TensorMapSpec* const spec = encoder.find(map);
    if (spec == nullptr) continue;
    json one = text_of(*spec, places);
    one["at"] = at;
    maps.push_back(std::move(one));
    std::memset(bytes.data() + at, 0, sizeof map);
  }
  for (size_t at = 0; at + 8 <= size; at += 8) {
    uint64_t address = 0;
    std::memcpy(&address, bytes.data() + at, 8);
    const json place = places.of(address);
    if (place.is_null()) continue;
    addresses.push_back({{"at", at}, {"place", place}});
    std::memset(bytes.data() + at, 0, 8);
  }
  return {{"grid", {ctas, 1, 1}},
          {"block", {plan.threads(), 1, 1}},
          {"shared_bytes", plan.shared_bytes},
          {"cluster", plan.cluster > 1 ? json{plan.cluster, 1, 1} : json()},
          {"bytes", hex(bytes)},
          {"maps", maps},
          {"addresses", addresses}};
}

json launch_of(const json& line, const std::map<int, uint64_t>& buffers, Places& places, bool& early) {
  const auto place = [&](const json& logged) {
    if (logged.is_null()) return json();
    return places.of(buffers.at(logged["buffer"]) + logged["offset"].get<uint64_t>());
  };
  json launch = {{"grid", line["grid"]}, {"block", line["block"]}, {"shared_bytes", line["shared_bytes"]}};
  launch["cluster"] = nullptr;
  early = false;
  for (const json& attribute : line["attributes"]) {
    if (attribute["id"] == abi::kLaunchClusterDimension) {
      launch["cluster"] = attribute["value"];
    } else if (attribute["id"] == abi::kLaunchProgrammaticStreamSerialization) {
      early = attribute["value"] == 1;
    } else {
      launch["other_attribute"] = attribute["id"];
    }
  }
  const json& arguments = line["arguments"];
  launch["bytes"] = arguments["bytes"];
  launch["maps"] = json::array();
  for (json map : arguments["maps"]) {
    map["address"] = place(map["address"]);
    launch["maps"].push_back(std::move(map));
  }
  launch["addresses"] = json::array();
  for (const json& one : arguments["addresses"]) {
    launch["addresses"].push_back({{"at", one["at"]}, {"place", place(one)}});
  }
  return launch;
}

std::map<int, uint64_t> buffers_in(const std::vector<json>& lines) {
  std::map<int, uint64_t> buffers;
  for (const json& line : lines)
    if (line["call"] == "allocate") buffers[line["buffer"]] = line["address"];
  return buffers;
}

}  // namespace warpwright::recorded
