// The values that pickles hold, as C++ sees them.
#include "base/text.h"
#include "dyadic/torch_file.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::io {
namespace {

std::shared_ptr<Value::Node> make(Value::Kind kind) {
  auto n = std::make_shared<Value::Node>();
  n->kind = kind;
  return n;
}
const char* word(Value::Kind kind) {
  static constexpr const char* kWords[] = {
      "None",    "a bool", "an integer", "a float",   "a complex number",   "a large integer",
      "a text",  "bytes",  "a dtype",    "a device",  "a tensor",           "a list",
      "a tuple", "a set",  "a dict",     "an object", "a class or function"};
  return kWords[size_t(kind)];
}

}  // namespace

Value::Value(std::string text) {
  auto n = make(Kind::text);
  n->text = std::move(text);
  v_ = std::move(n);
}
Value::Value(Tensor t) {
  auto n = make(Kind::tensor);
  n->requires_grad = t.defined() && t.requires_grad();
  n->tensor = std::move(t);
  v_ = std::move(n);
}
Value Value::list(List items) {
  auto n = make(Kind::list);
  n->items = std::move(items);
  return Value(std::move(n));
}
Value Value::tuple(List items) {
  auto n = make(Kind::tuple);
  n->items = std::move(items);
  return Value(std::move(n));
}
Value Value::dict(Entries entries) {
  auto n = make(Kind::dict);
  n->entries = std::move(entries);
  return Value(std::move(n));
}

Value::Kind Value::kind() const {
  static constexpr Kind kPlain[] = {Kind::none, Kind::boolean, Kind::integer, Kind::real};
  const Node* n = node();
  return n ? n->kind : kPlain[v_.index()];
}

[[noreturn, gnu::cold]] static void other(const char* wanted, Value::Kind kind) {
  fail<TypeError>("a value of a file: it is {}, not {}", word(kind), wanted);
}
bool Value::boolean() const {
  if (const bool* p = std::get_if<bool>(&v_)) return *p;
  other("a bool", kind());
}
int64_t Value::integer() const {
  if (const int64_t* p = std::get_if<int64_t>(&v_)) return *p;
  other("an integer", kind());
}
double Value::real() const {
  if (const double* p = std::get_if<double>(&v_)) return *p;
  if (const int64_t* p = std::get_if<int64_t>(&v_)) return double(*p);
  other("a float", kind());
}
const std::string& Value::text() const {
  if (kind() != Kind::text) other("a text", kind());
  return node()->text;
}
const Tensor& Value::tensor() const {
  if (kind() != Kind::tensor) other("a tensor", kind());
  return node()->tensor;
}
const Value::List& Value::items() const {
  if (kind() != Kind::list && kind() != Kind::tuple && kind() != Kind::set) other("a list", kind());
  return node()->items;
}
const Value::Entries& Value::entries() const {
  if (kind() != Kind::dict) other("a dict", kind());
  return node()->entries;
}
const Value* Value::find(std::string_view key) const {
  const Entries& all = entries();
  for (size_t i = all.size(); i-- > 0;)
    if (all[i].first.kind() == Kind::text && all[i].first.text() == key) return &all[i].second;
  return nullptr;
}
const Value& Value::operator[](std::string_view key) const {
  if (const Value* found = find(key)) return *found;
  std::vector<std::string> names;
  for (auto& [name, value] : entries())
    if (name.kind() == Kind::text) names.push_back(name.text());
  fail<ValueError>("a value of a file: no key {}{}", quote_name(key),
                   names.empty() ? "" : "; nearest there: " + nearest(key, names));
}

}  // namespace dyadic::inline v1::io
