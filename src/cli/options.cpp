#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"

namespace dyadic::inline v1::cli {
namespace {

// All of a text, without the rounding to the nearest limit that conversions of the C library do.
template <class T> T whole_number(const std::string& text) {
  T value{};
  const char *begin = text.data() + (text.starts_with('+') ? 1 : 0), *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  const bool beyond = error == std::errc::result_out_of_range || (std::is_unsigned_v<T> && text.starts_with('-'));
  DY_CHECK_AS(ValueError, beyond || (error == std::errc() && stop == end), "{} is not a whole number", text);
  DY_CHECK_AS(ValueError, !beyond, "{} is not a whole number from {} to {}", text, std::numeric_limits<T>::min(),
              std::numeric_limits<T>::max());
  return value;
}
double parsed_number(const std::string& text) {
  double value{};
  DY_CHECK_AS(ValueError, CLI::detail::lexical_cast(text, value), "{} is not a number", text);
  return value;
}

template <class T> struct Inner {
  using type = T;
};
template <class T> struct Inner<std::optional<T>> {
  using type = T;
};

void add_check(CLI::Option& option, const Check& check) {
  option.check(
      [check](const std::string& text) -> std::string {
        try {
          check(text);
        } catch (const ValueError& e) { return e.what(); }
        return {};
      },
      "");
}

}  // namespace

Check at_least(int64_t low) {
  return [low](const std::string& text) {
    DY_CHECK_AS(ValueError, whole_number<int64_t>(text) >= low, "{} is less than {}", text, low);
  };
}
Check between(double low, double high) {
  return [low, high](const std::string& text) {
    const double x = parsed_number(text);
    DY_CHECK_AS(ValueError, x >= low && x <= high, "{} is not between {} and {}", text, low, high);
  };
}

int64_t byte_count(const std::string& text) {
  static constexpr std::string_view kUnits = "KMGT";
  char* end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  const bool begun = end != text.c_str();
  std::string_view unit = end;
  if (!unit.empty() && kUnits.find(unit[0]) != kUnits.npos) {
    v *= std::exp2(10.0 * double(kUnits.find(unit[0]) + 1));
    unit.remove_prefix(1);
    if (unit.starts_with('i')) unit.remove_prefix(1);
  }
  if (unit.starts_with('B')) unit.remove_prefix(1);
  DY_CHECK_AS(ValueError, begun && unit.empty() && v >= 1 && v < 0x1p62, "{} is not a number of bytes; write 500M or 2G", text);
  return int64_t(v);
}
double duration(const std::string& text) {
  char* end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  const double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
  if (*end == 's' || *end == 'm' || *end == 'h') ++end;
  DY_CHECK_AS(ValueError, end != text.c_str() && !*end && v > 0 && std::isfinite(v),
              "{} is not a duration; write 90s, 2m or 1h", text);
  return v * unit;
}

Options& Options::flag(const char* name, bool& out, const char* doc) {
  app_.add_flag(name, out, doc);
  return *this;
}

template <class T>
Options& Options::value(const char* name, T& out, const char* shown, const char* doc, const Check& check, bool required) {
  CLI::Option* o = app_.add_option(name, out, doc)->type_name(shown)->required(required);
  names_.push_back(o->get_single_name());
  if (o->get_expected_max() == 1) o->take_last();  // what a script gives is overridden behind it
  using Plain = typename Inner<T>::type;
  if constexpr (std::is_integral_v<Plain> && !std::is_same_v<Plain, bool>)
    add_check(*o, [](const std::string& text) { whole_number<Plain>(text); });
  if (check) add_check(*o, check);
  return *this;
}

namespace {

// A JSON value as the command line would spell it.
std::vector<std::string> spelled(const nlohmann::json& j) {
  if (j.is_string()) return {j.get<std::string>()};
  if (!j.is_array()) return {dump_json(j)};
  std::vector<std::string> words;
  for (const auto& item : j) words.push_back(item.is_string() ? item.get<std::string>() : dump_json(item));
  return words;
}

using Entries = std::vector<std::pair<std::string, std::vector<std::string>>>;

Entries read_json(const std::string& document) {
  nlohmann::json all;
  try {
    all = parse_json(document, Comments::skipped);
  } catch (const nlohmann::json::parse_error& e) {
    const std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 2, ..."
    fail<ValueError>("not JSON: {}", what.substr(what.find("] ") + 2));
  }
  DY_CHECK_AS(ValueError, all.is_object(), "not a JSON object: write {{\"steps\": 1000, ...}}");
  Entries entries;
  for (const auto& [key, value] : all.items()) entries.emplace_back(key, spelled(value));
  return entries;
}
Entries read_toml(const std::string& document) {
  std::istringstream in(document);
  Entries entries;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(in)) {
    DY_CHECK_AS(ValueError, item.parents.empty() && item.name != "++", "a table, [{}]: options stand alone, steps = 1000",
                item.parents.empty() ? "" : item.parents[0]);
    entries.emplace_back(item.name, item.inputs);
  }
  return entries;
}

}  // namespace

// TOML has keys and "=" and begins with neither a brace nor a comment of JSON's kind.
void Options::take(const std::string& source, const std::string& document) {
  const auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", source, why)); };
  const size_t first = document.find_first_not_of(" \t\r\n");
  const bool toml =
      first != document.npos && document[first] != '{' && document[first] != '/' && document.find('=') != document.npos;
  Entries all;
  try {
    all = toml ? read_toml(document) : read_json(document);
  } catch (const std::exception& e) { refuse(e.what()); }
  for (const auto& [key, words] : all) {
    if (std::find(names_.begin(), names_.end(), key) == names_.end())
      refuse(fmt::format("unknown key \"{}\"; did you mean {}? the known ones are {}", key, nearest(key, names_),
                         join(names_, ", ")));
    CLI::Option* o = app_.get_option("--" + key);
    if (o->count()) continue;
    if (int(words.size()) > o->get_expected_max()) refuse(fmt::format("--{}: it takes 1 value, not {}", key, words.size()));
    try {
      for (const std::string& word : words) o->add_result(word);
      o->run_callback();
    } catch (const CLI::ParseError& e) { refuse(e.what()); }
  }
}

#define DY_OPTION(...) \
  template Options& Options::value(const char*, __VA_ARGS__&, const char*, const char*, const Check&, bool);
DY_OPTION(bool)
DY_OPTION(int)
DY_OPTION(int64_t)
DY_OPTION(uint64_t)
DY_OPTION(double)
DY_OPTION(std::string)
DY_OPTION(std::vector<std::string>)
DY_OPTION(std::optional<int64_t>)
DY_OPTION(std::optional<uint64_t>)
DY_OPTION(std::optional<double>)
#undef DY_OPTION

}  // namespace dyadic::inline v1::cli
