#include "cli/options.h"

#include <CLI/CLI.hpp>

#include "base/check.h"

namespace dyadic::inline v1::cli {
namespace {

template <class T> T number(const std::string& text, const char* what) {
  T value{};
  DY_CHECK_AS(ValueError, CLI::detail::lexical_cast(text, value), "{} is not {}", text, what);
  return value;
}

}  // namespace

Check at_least(int64_t low) {
  return [low](const std::string& text) {
    DY_CHECK_AS(ValueError, number<int64_t>(text, "a whole number") >= low, "{} is less than {}", text, low);
  };
}
Check between(double low, double high) {
  return [low, high](const std::string& text) {
    double x = number<double>(text, "a number");
    DY_CHECK_AS(ValueError, x >= low && x <= high, "{} is not between {} and {}", text, low, high);
  };
}

Options& Options::flag(const char* name, bool& out, const char* doc) {
  app_.add_flag(name, out, doc);
  return *this;
}

template <class T>
Options& Options::value(const char* name, T& out, const char* shown, const char* doc, const Check& check, bool required) {
  CLI::Option* o = app_.add_option(name, out, doc)->type_name(shown)->required(required);
  if (check)
    o->check(
        [check](const std::string& text) -> std::string {
          try {
            check(text);
          } catch (const ValueError& e) { return e.what(); }
          return {};
        },
        "");
  return *this;
}

#define DY_OPTION(...) \
  template Options& Options::value(const char*, __VA_ARGS__&, const char*, const char*, const Check&, bool);
DY_OPTION(int)
DY_OPTION(int64_t)
DY_OPTION(uint64_t)
DY_OPTION(double)
DY_OPTION(std::string)
DY_OPTION(std::vector<std::string>)
DY_OPTION(std::optional<int64_t>)
DY_OPTION(std::optional<double>)
#undef DY_OPTION

}  // namespace dyadic::inline v1::cli
