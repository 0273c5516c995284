// JSON as text. Written here: the library that reads it takes seconds to compile, and who only writes does without it.
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/json.h"

namespace warpwright {
namespace {

// The first character of a text: this many bytes of UTF-8, or of something that is not UTF-8.
struct Piece {
  std::size_t length;
  bool valid;
};

Piece first_piece(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true};
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0) return {1, false};
  // The second byte is bounded: nothing is longer than it need be, half of a pair of UTF-16, or beyond the last
  // character.
  unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size() || byte(i) < least || byte(i) > most) return {i, false};
    least = 0x80;
    most = 0xBF;
  }
  return {length, true};
}

void write_text(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  out += '"';
  while (!text.empty()) {
    const auto [length, valid] = first_piece(text);
    const std::size_t escape = kEscaped.find(text[0]);
    if (!valid) {
      out += kReplacement;
    } else if (escape != std::string_view::npos) {
      out += '\\';
      out += kLetters[escape];
    } else if (static_cast<unsigned char>(text[0]) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<std::size_t>(text[0]) >> 4];
      out += kHex[static_cast<std::size_t>(text[0]) & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void write_integer(std::string& out, auto value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

// The fewest digits that are read back as the same number; always as a real number, with a point or an exponent.
void write_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer;
  // "-1.25e-05": where the point stands decides how it is written.
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  const bool small = text[e + 1] == '-';
  int exponent = 0;
  std::from_chars(text.data() + e + 2, end, exponent);
  if (exponent > (small ? 4 : 14)) {
    out += text;
    return;
  }
  std::array<char, 40> plain;
  const auto last = std::to_chars(plain.data(), plain.data() + plain.size(), value, std::chars_format::fixed).ptr;
  const std::string_view digits(plain.data(), static_cast<std::size_t>(last - plain.data()));
  out += digits;
  if (digits.find('.') == std::string_view::npos) out += ".0";
}

}  // namespace

struct Json::Writer {
  std::string& out;
  int indent;  // below 0: all in one line

  void line(int depth) const {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(depth * indent), ' ');
  }

  void write(const Json& json, int depth) const {
    switch (json.kind_) {
      case Kind::null:
        out += "null";
        return;
      case Kind::boolean:
        out += json.boolean() ? "true" : "false";
        return;
      case Kind::integer:
        return write_integer(out, json.number_);
      case Kind::natural:
        return write_integer(out, static_cast<std::uint64_t>(json.number_));
      case Kind::real:
        return write_real(out, json.real());
      case Kind::text:
        return write_text(out, json.text());
      case Kind::array:
      case Kind::object:
        write_items(json, depth);
    }
  }

  void write_items(const Json& json, int depth) const {
    const bool fields = json.is_object();
    out += fields ? '{' : '[';
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (i != 0) out += ',';
      line(depth + 1);
      if (fields) {
        write_text(out, json.names()[i]);
        out += indent < 0 ? ":" : ": ";
      }
      write(json[i], depth + 1);
    }
    if (!json.empty()) line(depth);
    out += fields ? '}' : ']';
  }
};

std::string Json::dump(int indent) const {
  std::string out;
  Writer{out, indent}.write(*this, 0);
  return out;
}

}  // namespace warpwright
