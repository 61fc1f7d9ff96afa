#include "base/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace dyadic::inline v1 {

void warn(std::string_view text) {
  std::string line = fmt::format("dyadic: warning: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so that lines of several threads don't mix
}
bool warn_once(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>>& shown = *new std::set<std::string, std::less<>>;
  {
    std::lock_guard lock(mutex);
    if (!shown.emplace(text).second) return false;
  }
  warn(text);
  return true;
}

}  // namespace dyadic::inline v1
