// What differs from PyTorch: names that are not here, what has another meaning, and arguments that are accepted and change
// nothing, as the sources declare them (tools/make_ignored.py).
#include "cli/reference.h"

namespace dyadic::inline v1::cli {
namespace {

struct IgnoredArgument {
  const char *language, *function, *names, *why;
  bool warns;
};
struct AbsentNames {
  const char *place, *names, *why;
};
struct OtherMeaning {
  const char *functions, *meaning;
};
#include "ignored_arguments.h"

}  // namespace

const Json& ignored_arguments() {
  static const Json all = [] {
    Json rows = Json::array();
    for (const IgnoredArgument& a : kIgnoredArguments)
      rows.push_back(
          {{"name", a.function}, {"language", a.language}, {"arguments", a.names}, {"why", a.why}, {"warns", a.warns}});
    return rows;
  }();
  return all;
}

const Json& absent_names() {
  static const Json all = [] {
    Json rows = Json::array();
    for (const AbsentNames& a : kAbsentNames) rows.push_back({{"name", a.place}, {"names", a.names}, {"why", a.why}});
    return rows;
  }();
  return all;
}

const Json& other_meanings() {
  static const Json all = [] {
    Json rows = Json::array();
    for (const OtherMeaning& a : kOtherMeanings) rows.push_back({{"name", a.functions}, {"why", a.meaning}});
    return rows;
  }();
  return all;
}

}  // namespace dyadic::inline v1::cli
