#include "base/check.h"
#include "base/text.h"
#include "dyadic/data.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {

Foreign::~Foreign() = default;

namespace {

template <class T, class V> const T& as(const V& v, const Value& value, const char* wanted) {
  const T* p = std::get_if<T>(&v);
  DY_CHECK_AS(TypeError, p, "Value: {} is wanted, here is {}", wanted, value.str());
  return *p;
}

}  // namespace

const Tensor& Value::tensor() const { return as<Tensor>(v_, *this, "a tensor"); }
Scalar Value::number() const { return as<Scalar>(v_, *this, "a number"); }
const std::string& Value::text() const { return as<std::string>(v_, *this, "a text"); }
const Value::List& Value::list() const { return as<List>(v_, *this, "a list"); }
const Value::Named& Value::named() const { return as<Named>(v_, *this, "named values"); }
const std::shared_ptr<Foreign>& Value::foreign() const { return as<std::shared_ptr<Foreign>>(v_, *this, "an object"); }

size_t Value::size() const { return kind() == Kind::named ? named().size() : list().size(); }
const Value& Value::operator[](size_t i) const {
  DY_CHECK_AS(IndexError, i < size(), "Value: there is no entry {}: it has {}: {}", i, size(), str());
  return kind() == Kind::named ? named()[i].second : list()[i];
}
const Value& Value::operator[](std::string_view name) const {
  std::vector<std::string> names;
  for (auto& [n, value] : named()) {
    if (n == name) return value;
    names.push_back(n);
  }
  fail<ValueError>("Value: there is no entry \"{}\"; there are {}", name, join(names, ", "));
}

std::string Value::str() const {
  std::vector<std::string> parts;
  switch (kind()) {
    case Kind::none:
      return "nothing";
    case Kind::tensor:
      return tensor().defined() ? describe(tensor()) : "an undefined tensor";
    case Kind::number: {
      const Scalar n = number();
      if (n.kind() == Scalar::Kind::boolean) return n.integer() ? "true" : "false";
      return n.kind() == Scalar::Kind::integer ? fmt::format("{}", n.integer()) : fmt::format("{}", n.real());
    }
    case Kind::text:
      return fmt::format("\"{}\"", text());
    case Kind::list:
      for (const Value& v : list()) parts.push_back(v.str());
      return "[" + join(parts, ", ") + "]";
    case Kind::named:
      for (auto& [name, v] : named()) parts.push_back(name + ": " + v.str());
      return "{" + join(parts, ", ") + "}";
    default:
      return "an object of type " + foreign()->type_name();
  }
}

}  // namespace dyadic::inline v1::data
