// Values of a template: JSON's, and what templates themselves make.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dyadic::inline v1::text::jinja {

struct Macro;
struct Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in the order of insertion
struct Function;
struct Loop;

enum class Kind : uint8_t { undefined, none, boolean, integer, number, text, list, tuple, dict, space, function, loop };

struct Value {
  Kind kind = Kind::undefined;
  uint16_t depth = 0;  // of lists within lists: bounded, since they are freed recursively
  union {
    bool boolean;
    int64_t integer = 0;
    double number;
  };
  std::shared_ptr<const std::string> text;  // of an undefined value: its name
  std::shared_ptr<List> list;
  std::shared_ptr<Dict> dict;  // of a namespace too, which alone can be written to
  std::shared_ptr<Function> function;
  std::shared_ptr<Loop> loop;

  Value() = default;
  static Value undefined(std::string name) {
    Value v;
    v.text = std::make_shared<const std::string>(std::move(name));
    return v;
  }
  static Value none() { return of(Kind::none); }
  static Value of(Kind k) {
    Value v;
    v.kind = k;
    return v;
  }
  Value(bool b) : kind(Kind::boolean) { boolean = b; }
  Value(int64_t i) : kind(Kind::integer) { integer = i; }
  Value(double d) : kind(Kind::number) { number = d; }
  Value(std::string s) : kind(Kind::text), text(std::make_shared<const std::string>(std::move(s))) {}
  Value(const char* s) : Value(std::string(s)) {}
  Value(List l, bool tuple = false);  // ValueError when it is nested too deep
  Value(Dict d);

  bool is_text() const { return kind == Kind::text; }
  bool is_list() const { return kind == Kind::list || kind == Kind::tuple; }
  bool is_dict() const { return kind == Kind::dict; }
  bool is_defined() const { return kind != Kind::undefined; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::number || kind == Kind::boolean; }
  double as_double() const { return kind == Kind::number ? number : double(as_int()); }
  int64_t as_int() const { return kind == Kind::boolean ? boolean : kind == Kind::number ? int64_t(number) : integer; }
  bool truth() const;
  const Value* find(std::string_view key) const;  // of a dict or namespace
};

struct Function {
  std::string name;
  Value self;                    // of a method
  const Macro* macro = nullptr;  // else a built-in one, by name
};
struct Loop {
  List items;
  size_t at = 0;
  int64_t depth = 1;
  Value changed;
};

const char* kind_name(const Value& v);  // "str", "dict" ...
bool equal(const Value& a, const Value& b, int depth = 0);
bool less(const Value& a, const Value& b);  // ValueError where Python has no order
std::string to_text(const Value& v);        // Python's str()
std::string represent(const Value& v, int depth = 0);
std::string number_text(double d);

struct JsonStyle {
  int indent = -1;  // -1: one line
  bool ascii = false, sorted = false;
  std::string between = ", ", colon = ": ";
};
std::string to_json(const Value& v, const JsonStyle& style, int depth = 0);
Value parse_json(std::string_view text, const char* what);  // ValueError "<what>: not JSON at byte 3"

}  // namespace dyadic::inline v1::text::jinja
