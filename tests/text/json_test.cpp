// Json prints what the library under it prints for the same value, and keeps what it is given.
#include "text/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
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

TEST(Json, WritesNumbersAsTheLibraryDoes) {
  for (const double value : {0.0, -0.0, 1.0, -1.5, 1e-4, 9.999e-5, 1e-5, 123456.789, 1e14, 123456789012345.0, 1e15,
                             1e16, 1.25e16, 1e100, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1.0 / 3}) {
    EXPECT_EQ(Json(value).dump(), nlohmann::ordered_json(value).dump());
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double value =
        i % 2 == 0 ? std::bit_cast<double>(random()) : std::ldexp(double(random() >> 40), int(random() % 64) - 40);
    if (!std::isfinite(value)) continue;
    const std::string ours = Json(value).dump(), theirs = nlohmann::ordered_json(value).dump();
    EXPECT_EQ(Json::parse(ours)->get<double>(), value);
    // Ours are the fewest digits, the library's nearly always; of two that are as near either may be taken.
    const auto form = [](std::string text) {
      std::replace_if(
          text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }, '0');
      return text;
    };
    EXPECT_TRUE(form(ours) == form(theirs) || ours.size() < theirs.size()) << ours << " " << theirs;
  }
}

TEST(Json, WritesTextsAsTheLibraryDoes) {
  const auto same = [](const std::string& text) {
    EXPECT_EQ(Json(text).dump(),
              nlohmann::ordered_json(text).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  };
  for (int first = 0; first < 256; ++first) {
    same(std::string("x") + char(first));
    for (int second = 0; second < 256; ++second) same({char(first), char(second), 'x'});
  }
  std::mt19937_64 random(1);
  constexpr int kBorders[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1,
                              0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (int j = 0; j < 6; ++j) text += char(kBorders[random() % std::size(kBorders)]);
    same(text);
  }
}

TEST(Json, WritesNothingAndManyAsTheLibraryDoes) {
  for (const char* text : {"[]", "{}", "[[],{}]", "{\"a\":{},\"b\":[]}"}) {
    for (const int indent : {-1, 0, 2})
      EXPECT_EQ(Json::parse(text)->dump(indent), nlohmann::ordered_json::parse(text).dump(indent));
  }
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
