// The options of a subcommand and the checks of their values: the one place that touches CLI11, whose header costs every file
// that includes it five seconds to compile.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dyadic/error.h"

namespace CLI {
class App;
}

namespace dyadic::inline v1::cli {

// Throws ValueError for a text that the option does not take: exit code 2, with the option's name before the message.
using Check = std::function<void(const std::string&)>;
Check at_least(int64_t low);
Check between(double low, double high);

// "500M", "2G", "1.5GiB", "1000000" in bytes, K to T powers of 1024; ValueError.
int64_t byte_count(const std::string& text);
// "90", "90s", "2m", "1.5h" in seconds; ValueError.
double duration(const std::string& text);

class Options {
  CLI::App& app_;
  std::vector<std::string> names_;  // of options with values

 public:
  explicit Options(CLI::App& app) : app_(app) {}
  CLI::App& app() { return app_; }

  Options& flag(const char* name, bool& out, const char* doc);
  // T: bool, int, int64_t, uint64_t, double, std::string, an optional or a vector (any number of values, the option may repeat)
  // of those. `shown` stands for the value in --help. `out` keeps what it holds when the option is absent.
  template <class T>
  Options& value(const char* name, T& out, const char* shown, const char* doc, const Check& check = {}, bool required = false);
  template <class T> Options& required(const char* name, T& out, const char* shown, const char* doc, const Check& check = {}) {
    return value(name, out, shown, doc, check, true);
  }

  // Once the command line has been read: gives the options that it left out what a JSON object (comments allowed) or TOML
  // without tables has under their names. Of several documents the first that names an option counts. A key that is no option
  // is an error, which names the nearest: exit code 2, `source` before the message.
  void take(const std::string& source, const std::string& document);
};

}  // namespace dyadic::inline v1::cli
