// A JSON value: what the commands print, what a timeline page carries, what other programs answer. Fields of an object
// keep the order in which they were added. The library that reads the text is named in read_json.cpp alone: its
// headers would cost every file that includes them seconds of compiling.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpwright {

class Json {
 public:
  Json() noexcept;  // null
  Json(std::nullptr_t) noexcept : Json() {}
  template <std::same_as<bool> T>
  Json(T value) : Json(Kind::boolean, value ? 1 : 0) {}
  template <std::signed_integral T>
  Json(T value) : Json(Kind::integer, value) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : Json(Kind::natural, static_cast<std::int64_t>(value)) {}
  Json(double value);
  Json(std::string_view value);
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  // {{"name", value}, ...} is an object, any other list an array.
  Json(std::initializer_list<Json> items);
  template <class T>
  Json(const std::vector<T>& items) : Json(array()) {
    for (const T& item : items) push_back(item);
  }
  template <class A, class B>
  Json(const std::pair<A, B>& items) : Json(array()) {
    push_back(items.first);
    push_back(items.second);
  }
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json array(std::initializer_list<Json> items);
  static Json object();

  // Nothing when the text or the bytes are not what they should be.
  static std::optional<Json> parse(std::string_view text);
  static std::optional<Json> parse_msgpack(std::span<const std::uint8_t> bytes);

  // In one line, or with an indentation. What is not UTF-8 in a text is replaced.
  std::string dump(int indent = -1) const;

  bool is_null() const { return kind_ == Kind::null; }
  bool is_number() const { return kind_ == Kind::integer || kind_ == Kind::natural || kind_ == Kind::real; }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  // bool, std::string or a number. Throws when the value is something else.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else if constexpr (std::integral<T>) {
      return kind_ == Kind::real ? static_cast<T>(real()) : static_cast<T>(integer());
    } else {
      return static_cast<T>(real());
    }
  }
  // The value of a field, or `otherwise` when there is none.
  template <class T>
  T value(std::string_view name, T otherwise) const {
    const Json* field = find(name);
    return field == nullptr ? otherwise : field->get<T>();
  }

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // The items of an array, the values of an object.
  const Json* begin() const;
  const Json* end() const { return begin() + size(); }
  Json* begin();
  Json* end() { return begin() + size(); }
  Json& back() { return *(end() - 1); }
  const Json& operator[](std::size_t index) const;
  Json& operator[](std::size_t index);
  // Null becomes an array.
  void push_back(Json item);

  // The names of the fields, in the order of the values.
  const std::vector<std::string>& names() const;
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Throws when there is no such field.
  const Json& operator[](std::string_view name) const;
  // Adds the field when there is none; null becomes an object.
  Json& operator[](std::string_view name);
  // Takes over every field of the other object.
  void update(const Json& other);

 private:
  enum class Kind : std::uint8_t { null, boolean, integer, natural, real, text, array, object };
  struct Content;
  struct Writer;

  Json(Kind kind, std::int64_t number);
  explicit Json(Kind kind);

  bool boolean() const;
  std::int64_t integer() const;
  double real() const;
  const std::string& text() const;

  Kind kind_ = Kind::null;
  std::int64_t number_ = 0;           // for natural and real: their bits
  std::unique_ptr<Content> content_;  // for text, array and object
};

}  // namespace warpwright
