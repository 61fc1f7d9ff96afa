#include "base/log.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace dyadic::inline v1 {

namespace {
std::atomic<WarningHandler> g_handler{nullptr};
}

void set_warning_handler(WarningHandler handler) { g_handler = handler; }
void warn(std::string_view text) {
  if (const WarningHandler handler = g_handler) return handler(text);
  std::string line = fmt::format("dyadic: warning: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so that lines of several threads don't mix
}
void warn_in_destructor(std::string_view text) noexcept {
  try {
    warn(text);
  } catch (...) {}
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
