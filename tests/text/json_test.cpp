// Json prints what the library behind it prints for the same value, and keeps what it is given.
#include "text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace warpwright {
namespace {

TEST(Json, PrintsAsTheLibraryDoes) {
  const std::vector<std::string> words = {"a", "\"quoted\"\n", "\xc3\xa4"};
  const std::vector<std::pair<std::int64_t, int>> pairs = {{1, 2}, {-3, 4}};
  const auto fill = [&](auto& json) {
    json = {{"z", 1},
            {"a", {{"inner", nullptr}, {"truth", true}}},
            {"list", {1, 2.5, "three"}},
            {"pair", {1, 2}},
            {"words", words},
            {"pairs", pairs},
            {"lowest", std::numeric_limits<std::int64_t>::min()},
            {"largest", std::numeric_limits<std::uint64_t>::max()},
            {"tenth", 0.1},
            {"whole", 3.0},
            {"small", 1e-30},
            {"nan", std::nan("")}};
    json["added"] = "later";
    json["list"].push_back(false);
  };
  Json ours;
  nlohmann::ordered_json theirs;
  fill(ours);
  fill(theirs);
  EXPECT_EQ(ours.dump(), theirs.dump());
  EXPECT_EQ(ours.dump(2), theirs.dump(2));
  EXPECT_EQ(Json::parse(theirs.dump())->dump(2), theirs.dump(2));
  const std::vector<std::uint8_t> packed = nlohmann::ordered_json::to_msgpack(theirs);
  EXPECT_EQ(Json::parse_msgpack(packed)->dump(), theirs.dump());
}

TEST(Json, ReplacesWhatIsNotUtf8) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

TEST(Json, TakesNothingFromBadText) {
  for (const char* text : {"", "{", "[1,]", "{} {}"}) EXPECT_FALSE(Json::parse(text)) << text;
  const std::vector<std::uint8_t> cut = {0x82, 0x01};
  EXPECT_FALSE(Json::parse_msgpack(cut));
}

TEST(Json, FieldsAndItems) {
  Json json = {{"first", 1}, {"second", "two"}};
  EXPECT_EQ(json.names(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(json.value("first", 0), 1);
  EXPECT_EQ(json.value("third", 7), 7);
  json.update({{"first", 1.5}, {"third", true}});
  EXPECT_EQ(json["first"].get<double>(), 1.5);
  EXPECT_EQ(json.size(), 3u);
  EXPECT_TRUE(json["third"].get<bool>());
  const Json& fixed = json;
  EXPECT_THROW((void)fixed["fourth"], std::out_of_range);
  EXPECT_THROW((void)fixed["second"].get<int>(), std::runtime_error);
  EXPECT_EQ(fixed.find("fourth"), nullptr);
  // A part may replace the whole.
  json = std::move(json["second"]);
  EXPECT_EQ(json.get<std::string>(), "two");
  const Json copy = json;
  json = nullptr;
  EXPECT_TRUE(json.is_null());
  EXPECT_EQ(copy.get<std::string>(), "two");
}

}  // namespace
}  // namespace warpwright
