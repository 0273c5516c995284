#include "text/json.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace warpwright {

struct Json::Content {
  std::string text;
  std::vector<Json> items;
  std::vector<std::string> names;  // names of an object's fields, as many as items
};

Json::Json() noexcept = default;
Json::Json(Kind kind) : kind_(kind), content_(std::make_unique<Content>()) {}
Json::Json(Kind kind, std::int64_t number) : kind_(kind), number_(number) {}
Json::Json(double value) : Json(Kind::real, std::bit_cast<std::int64_t>(value)) {}
Json::Json(std::string_view value) : Json(Kind::text) { content_->text = value; }
Json::Json(const Json& other)
    : kind_(other.kind_),
      number_(other.number_),
      content_(other.content_ ? std::make_unique<Content>(*other.content_) : nullptr) {}
Json::Json(Json&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::null)), number_(other.number_), content_(std::move(other.content_)) {}
Json& Json::operator=(const Json& other) { return *this = Json(other); }
Json& Json::operator=(Json&& other) noexcept {
  // The other may be a part of this one.
  const Kind kind = std::exchange(other.kind_, Kind::null);
  number_ = other.number_;
  const std::unique_ptr<Content> old = std::exchange(content_, std::move(other.content_));
  kind_ = kind;
  return *this;
}
Json::~Json() = default;

Json::Json(std::initializer_list<Json> items) : Json(Kind::array) {
  const auto is_field = [](const Json& item) { return item.is_array() && item.size() == 2 && item[0].is_string(); };
  if (!std::all_of(items.begin(), items.end(), is_field)) {
    content_->items = items;
    return;
  }
  kind_ = Kind::object;
  for (const Json& item : items) {
    if (!contains(item[0].text())) (*this)[item[0].text()] = item[1];
  }
}

Json Json::array() { return Json(Kind::array); }
Json Json::array(std::initializer_list<Json> items) {
  Json list = array();
  list.content_->items = items;
  return list;
}
Json Json::object() { return Json(Kind::object); }

bool Json::boolean() const {
  if (kind_ != Kind::boolean) throw std::runtime_error("a JSON value is not a truth value");
  return number_ != 0;
}
std::int64_t Json::integer() const {
  if (kind_ != Kind::integer && kind_ != Kind::natural) throw std::runtime_error("a JSON value is not a number");
  return number_;
}
double Json::real() const {
  if (kind_ == Kind::real) return std::bit_cast<double>(number_);
  return kind_ == Kind::natural ? static_cast<double>(static_cast<std::uint64_t>(integer()))
                                : static_cast<double>(integer());
}
const std::string& Json::text() const {
  if (kind_ != Kind::text) throw std::runtime_error("a JSON value is not a text");
  return content_->text;
}

std::size_t Json::size() const { return content_ == nullptr ? 0 : content_->items.size(); }
const Json* Json::begin() const { return content_ == nullptr ? nullptr : content_->items.data(); }
Json* Json::begin() { return content_ == nullptr ? nullptr : content_->items.data(); }
const Json& Json::operator[](std::size_t index) const {
  if (index >= size()) throw std::out_of_range("a JSON array is shorter");
  return content_->items[index];
}
Json& Json::operator[](std::size_t index) { return const_cast<Json&>(static_cast<const Json&>(*this)[index]); }
void Json::push_back(Json item) {
  if (is_null()) *this = array();
  if (!is_array()) throw std::runtime_error("a JSON value is not an array");
  content_->items.push_back(std::move(item));
}

const std::vector<std::string>& Json::names() const {
  static const std::vector<std::string> none;
  return content_ == nullptr ? none : content_->names;
}
const Json* Json::find(std::string_view name) const {
  const auto found = std::find(names().begin(), names().end(), name);
  return found == names().end() ? nullptr : begin() + (found - names().begin());
}
const Json& Json::operator[](std::string_view name) const {
  const Json* field = find(name);
  if (field == nullptr) throw std::out_of_range("a JSON object has no field '" + std::string(name) + "'");
  return *field;
}
Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  if (!is_object()) throw std::runtime_error("a JSON value is not an object");
  if (const Json* field = find(name)) return const_cast<Json&>(*field);
  content_->names.emplace_back(name);
  return content_->items.emplace_back();
}
void Json::update(const Json& other) {
  for (std::size_t i = 0; i < other.size(); ++i) (*this)[other.names()[i]] = other[i];
}

}  // namespace warpwright
