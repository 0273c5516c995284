// The one file that includes the library that reads JSON: its headers cost seconds.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/json.h"

namespace warpwright {
namespace {

using Value = nlohmann::ordered_json;

Json read(const Value& value) {
  switch (value.type()) {
    case Value::value_t::boolean:
      return value.get<bool>();
    case Value::value_t::number_integer:
      return value.get<std::int64_t>();
    case Value::value_t::number_unsigned:
      return value.get<std::uint64_t>();
    case Value::value_t::number_float:
      return value.get<double>();
    case Value::value_t::string:
      return value.get_ref<const std::string&>();
    case Value::value_t::array: {
      Json list = Json::array();
      for (const Value& item : value) list.push_back(read(item));
      return list;
    }
    case Value::value_t::object: {
      Json fields = Json::object();
      for (const auto& [name, field] : value.items()) fields[name] = read(field);
      return fields;
    }
    default:
      return nullptr;
  }
}

std::optional<Json> accepted(const Value& value) {
  if (value.is_discarded()) return std::nullopt;
  return read(value);
}

}  // namespace

std::optional<Json> Json::parse(std::string_view text) { return accepted(Value::parse(text, nullptr, false)); }
std::optional<Json> Json::parse_msgpack(std::span<const std::uint8_t> bytes) {
  return accepted(Value::from_msgpack(bytes.begin(), bytes.end(), true, false));
}

}  // namespace warpwright
