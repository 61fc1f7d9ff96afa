// Values as Python compares and writes them.
#include "text/jinja_value.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

constexpr int kDeepestValue = 100;
void check_depth(int depth) {
  DY_CHECK_AS(ValueError, depth < kDeepestValue, "values nested more than {} deep", kDeepestValue);
}

std::string in_quotes(std::string_view s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : s) {
    if (c == quote || c == '\\')
      out += '\\', out += c;
    else if (c == '\n' || c == '\r' || c == '\t')
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else if (uint8_t(c) < 32 || c == 127)
      out += fmt::format("\\x{:02x}", unsigned(uint8_t(c)));
    else
      out += c;
  }
  return out += quote;
}
std::string json_text(std::string_view s, bool ascii) {
  std::string out = "\"";
  for (size_t i = 0; i < s.size();) {
    const Char c = decode_utf8(s, i);
    const char plain = char(c.code);
    if (c.code == '"' || c.code == '\\')
      out += '\\', out += plain;
    else if (c.code == '\n' || c.code == '\r' || c.code == '\t' || c.code == '\b' || c.code == '\f')
      out += '\\', out += c.code == '\n' ? 'n' : c.code == '\r' ? 'r' : c.code == '\t' ? 't' : c.code == '\b' ? 'b' : 'f';
    else if (c.code < 32 || (ascii && c.code >= 127 && c.code < 0x10000))
      out += fmt::format("\\u{:04x}", uint32_t(c.code));
    else if (ascii && c.code >= 0x10000 && c.code < kBadByte)
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c.code - 0x10000) >> 10), 0xdc00 + (c.code & 0x3ff));
    else
      out += s.substr(i, c.size);
    i += c.size;
  }
  return out += '"';
}

Value from_json(const nlohmann::ordered_json& j, int depth) {
  check_depth(depth);
  switch (j.type()) {
    case nlohmann::json::value_t::boolean:
      return j.get<bool>();
    case nlohmann::json::value_t::number_integer:
      return j.get<int64_t>();
    case nlohmann::json::value_t::number_unsigned:
      if (j.get<uint64_t>() > uint64_t(INT64_MAX)) return double(j.get<uint64_t>());
      return j.get<int64_t>();
    case nlohmann::json::value_t::number_float:
      return j.get<double>();
    case nlohmann::json::value_t::string:
      return j.get<std::string>();
    case nlohmann::json::value_t::array: {
      List list;
      for (const auto& e : j) list.push_back(from_json(e, depth + 1));
      return list;
    }
    case nlohmann::json::value_t::object: {
      Dict dict;
      for (const auto& [key, e] : j.items()) dict.emplace_back(key, from_json(e, depth + 1));
      return dict;
    }
    default:
      return Value::none();
  }
}

uint16_t deeper(uint16_t depth, const Value& v) {
  check_depth(v.depth + 1);
  return std::max(depth, uint16_t(v.depth + 1));
}

}  // namespace

Value::Value(List l, bool tuple) : kind(tuple ? Kind::tuple : Kind::list) {
  for (const Value& v : l) depth = deeper(depth, v);
  list = std::make_shared<List>(std::move(l));
}
Value::Value(Dict d) : kind(Kind::dict) {
  for (const auto& [key, v] : d) depth = deeper(depth, v);
  dict = std::make_shared<Dict>(std::move(d));
}

bool Value::truth() const {
  switch (kind) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return boolean;
    case Kind::integer:
      return integer != 0;
    case Kind::number:
      return number != 0;
    case Kind::text:
      return !text->empty();
    case Kind::list:
    case Kind::tuple:
      return !list->empty();
    case Kind::dict:
      return !dict->empty();
    default:
      return true;
  }
}
const Value* Value::find(std::string_view key) const {
  if (dict)
    for (const auto& [k, v] : *dict)
      if (k == key) return &v;
  return nullptr;
}

const char* kind_name(const Value& v) {
  constexpr const char* kNames[] = {"Undefined", "NoneType", "bool", "int",       "float",    "str",
                                    "list",      "tuple",    "dict", "namespace", "function", "loop"};
  return kNames[size_t(v.kind)];
}

bool equal(const Value& a, const Value& b, int depth) {
  check_depth(depth);
  if (a.is_number() && b.is_number())
    return a.kind == Kind::number || b.kind == Kind::number ? a.as_double() == b.as_double() : a.as_int() == b.as_int();
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::text:
      return *a.text == *b.text;
    case Kind::list:
    case Kind::tuple:
      return std::equal(a.list->begin(), a.list->end(), b.list->begin(), b.list->end(),
                        [&](const Value& x, const Value& y) { return equal(x, y, depth + 1); });
    case Kind::dict:
      return a.dict->size() == b.dict->size() && std::all_of(a.dict->begin(), a.dict->end(), [&](const auto& e) {
               const Value* other = b.find(e.first);
               return other && equal(e.second, *other, depth + 1);
             });
    case Kind::space:
      return a.dict == b.dict;
    case Kind::function:
      return a.function == b.function;
    default:
      return true;
  }
}
bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return a.kind == Kind::number || b.kind == Kind::number ? a.as_double() < b.as_double() : a.as_int() < b.as_int();
  if (a.is_text() && b.is_text()) return *a.text < *b.text;
  if (a.is_list() && b.is_list())
    return std::lexicographical_compare(a.list->begin(), a.list->end(), b.list->begin(), b.list->end(), less);
  fail<ValueError>("{} and {} have no order", kind_name(a), kind_name(b));
}

std::string number_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  std::string s = fmt::format("{}", d);
  if (s.find_first_of(".e") == s.npos) s += ".0";
  return s;
}
std::string represent(const Value& v, int depth) {
  check_depth(depth);
  std::string out;
  const auto separate = [&] {
    if (out.size() > 1) out += ", ";
  };
  switch (v.kind) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return v.boolean ? "True" : "False";
    case Kind::integer:
      return std::to_string(v.integer);
    case Kind::number:
      return number_text(v.number);
    case Kind::text:
      return in_quotes(*v.text);
    case Kind::list:
    case Kind::tuple:
      out = v.kind == Kind::tuple ? "(" : "[";
      for (const Value& e : *v.list) separate(), out += represent(e, depth + 1);
      if (v.kind == Kind::tuple) return out += v.list->size() == 1 ? ",)" : ")";
      return out += "]";
    case Kind::dict:
      out = "{";
      for (const auto& [key, e] : *v.dict) separate(), out += in_quotes(key) + ": " + represent(e, depth + 1);
      return out += "}";
    default:
      return fmt::format("<{}>", kind_name(v));
  }
}
std::string to_text(const Value& v) {
  if (v.is_text()) return *v.text;
  return v.is_defined() ? represent(v) : "";
}

std::string to_json(const Value& v, const JsonStyle& style, int depth) {
  check_depth(depth);
  const auto line = [&](int d) {
    return style.indent < 0 ? std::string() : "\n" + std::string(size_t(style.indent) * size_t(d), ' ');
  };
  std::string between = style.between;
  if (style.indent >= 0) between = between.substr(0, between.find_last_not_of(' ') + 1);
  between += line(depth + 1);
  switch (v.kind) {
    case Kind::none:
      return "null";
    case Kind::boolean:
      return v.boolean ? "true" : "false";
    case Kind::number:
      return std::isnan(v.number)   ? "NaN"
             : std::isinf(v.number) ? (v.number > 0 ? "Infinity" : "-Infinity")
                                    : number_text(v.number);
    case Kind::integer:
      return std::to_string(v.integer);
    case Kind::text:
      return json_text(*v.text, style.ascii);
    case Kind::list:
    case Kind::tuple: {
      if (v.list->empty()) return "[]";
      std::string out = "[" + line(depth + 1);
      for (size_t i = 0; i < v.list->size(); ++i) out += (i ? between : "") + to_json((*v.list)[i], style, depth + 1);
      return out + line(depth) + "]";
    }
    case Kind::dict: {
      if (v.dict->empty()) return "{}";
      Dict entries = *v.dict;
      if (style.sorted)
        std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::string out = "{" + line(depth + 1);
      for (size_t i = 0; i < entries.size(); ++i)
        out += (i ? between : "") + json_text(entries[i].first, style.ascii) + style.colon +
               to_json(entries[i].second, style, depth + 1);
      return out + line(depth) + "}";
    }
    default:
      fail<ValueError>("tojson: {} is not JSON", v.is_defined() ? kind_name(v) : "an undefined value");
  }
}

Value parse_json(std::string_view text, const char* what) {
  try {
    return from_json(dyadic::parse_json<nlohmann::ordered_json>(text), 0);
  } catch (const nlohmann::json::parse_error& e) {
    fail<ValueError>("{}: not JSON at byte {}", what, e.byte);
  } catch (const nlohmann::json::exception&) { fail<ValueError>("{}: not JSON", what); }
}

}  // namespace dyadic::inline v1::text::jinja
