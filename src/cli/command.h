// A subcommand of the program: one file defines `extern const Command <name>_command`, one word in CMakeLists.txt registers it.
// Reading the command line, --help, exit codes and error lines are app.cpp's.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace dyadic::inline v1::cli {

// Exit codes of the program.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;

struct Common {  // options that every subcommand has; --threads and --memory-limit are already in force
  bool json = false;
  std::string line;  // the command line as it was typed, for reports
};
using Run = std::function<int(const Common&)>;  // returns the exit code; errors are exceptions

struct Command {
  const char* name;
  const char* line;        // what it does, as `dyadic` alone shows it
  const char* example;     // command lines for --help
  Run (*setup)(Options&);  // declares its options; what they are stored in must live in the Run that it returns
  std::span<const Command* const> parts{};  // `dyadic bench gpt`: then setup is null
  bool ranks = false;                       // whether several processes run it together
};

// A mistake on the command line that only shows once options are put together: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The whole program; returns its exit code. Results go to stdout, all other words to stderr.
int run(int argc, const char* const* argv);

// Writes to stdout; Error when that fails (a full disk behind a redirection).
void print(std::string_view text);

}  // namespace dyadic::inline v1::cli
