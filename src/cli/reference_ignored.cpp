// The table of arguments that are accepted and change nothing, made of their declarations in the sources
// (tools/make_ignored.py).
#include "cli/reference.h"

namespace dyadic::inline v1::cli {
namespace {

struct IgnoredArgument {
  const char *language, *function, *names, *why;
  bool warns;
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

}  // namespace dyadic::inline v1::cli
