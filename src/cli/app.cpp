// The frame of the program: the list of subcommands, reading of the command line, errors as one line and an exit code.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/command.h"
#include "commands_list.h"
#include "dyadic/device.h"
#include "dyadic/distributed.h"
#include "dyadic/version.h"

namespace dyadic::inline v1::cli {

#define DY_EXTERN(name) extern const Command name##_command;
DY_COMMANDS(DY_EXTERN)

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("cannot write to standard output: {}", std::strerror(errno));
}

namespace {

#define DY_ADDRESS(name) &name##_command,
constexpr const Command* kCommands[] = {DY_COMMANDS(DY_ADDRESS)};

int complain(int code, std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';  // one line, whatever it quotes
  const std::string rank = distributed::launched() > 1 ? fmt::format("rank {}: ", distributed::launched_rank()) : "";
  std::fprintf(stderr, "dyadic: %s%s\n", rank.c_str(), text.c_str());
  return code;
}

struct Parsed {
  Common common;
  int threads = 0;
  std::string memory_limit;
  struct Found {
    CLI::App* app;
    Run run;
    bool ranks;
  };
  std::vector<Found> runs;
};

void add(CLI::App& parent, std::span<const Command* const> list, Parsed& p) {
  for (const Command* c : list) {
    CLI::App* sub = parent.add_subcommand(c->name, c->line);
    sub->footer(fmt::format("Example:\n  {}", c->example));
    if (!c->setup) {
      add(*sub, c->parts, p);
      continue;
    }
    Options options(*sub);
    Run run = c->setup(options);
    options.value("--threads", p.threads, "N", "threads to use (default: all cores this process may use)", between(1, 4096));
    options.value("--memory-limit", p.memory_limit, "BYTES",
                  "end with an error before tensors take more than this: 500M, 2G (default: no limit)",
                  [](const std::string& text) { byte_count(text); });
    options.flag("--json", p.common.json, "one JSON document on standard output, progress on standard error");
    p.runs.push_back({sub, std::move(run), c->ranks});
  }
}

// The innermost subcommand that was named.
CLI::App* chosen(CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* a : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(a->get_name());
  return names;
}
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    if (!o->get_lnames().empty() || !o->get_snames().empty()) names.push_back(o->get_name());
  return names;
}

// What is wrong with the command line, and what would be right.
std::string usage_text(CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = *chosen(&app);
  std::string path;
  for (const CLI::App* a = &at; a->get_parent(); a = a->get_parent()) path = a->get_name() + (path.empty() ? "" : " " + path);
  std::string tag = path.empty() ? "" : path + ": ";
  std::vector<std::string> rest;
  for (const CLI::App* a = &at; rest.empty() && a; a = a->get_parent()) rest = a->remaining();
  if (!dynamic_cast<const CLI::ExtrasError*>(&error) || rest.empty()) return tag + error.what();
  std::string word = rest.front().substr(0, rest.front().find('='));
  bool option = word.starts_with('-');
  std::vector<std::string> names = option ? option_names(at) : subcommand_names(at);
  if (names.empty()) return fmt::format("{}\"{}\" is not expected here; dyadic {} --help shows what is", tag, word, path);
  std::string near = nearest(word, names);
  return fmt::format("{}unknown {} \"{}\"; {}the known ones are {}", tag, option ? "option" : "subcommand", word,
                     edit_distance(word, near) <= 2 ? "did you mean " + near + "? " : "", join(names, ", "));
}

int parse_and_run(CLI::App& app, int argc, const char* const* argv) {
  Parsed parsed;
  add(app, kCommands, parsed);
  app.set_version_flag("--version", "dyadic " DYADIC_VERSION, "show the version");
  app.footer("dyadic SUBCOMMAND --help shows a subcommand's options and an example.");
  for (int i = 0; i < argc; ++i) parsed.common.line += (i ? " " : "") + std::string(argv[i]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help and --version come as exceptions too
    bool version = dynamic_cast<const CLI::CallForVersion*>(&e);
    print(version ? std::string(e.what()) + "\n" : app.help());  // of what was named
    return kDone;
  } catch (const CLI::ParseError& e) { return complain(kUsage, usage_text(app, e)); }
  CLI::App* named = chosen(&app);
  for (auto& [sub, run, ranks] : parsed.runs)
    if (sub == named) {
      if (distributed::launched() > 1 && !ranks)
        throw UsageError(fmt::format("{}: it runs as one process, not as {} that were started together", sub->get_name(),
                                     distributed::launched()));
      if (parsed.threads) set_num_threads(parsed.threads);
      if (!parsed.memory_limit.empty()) set_memory_limit(byte_count(parsed.memory_limit));
      return run(parsed.common);
    }
  print(app.help());  // `dyadic`, `dyadic bench`: of what was named
  return kDone;
}

}  // namespace

namespace {

int run_alone(int argc, const char* const* argv) {
  try {
    CLI::App app{"Tensors, training and quantization in which every precision's cost is seen.", "dyadic"};
    return parse_and_run(app, argc, argv);
  } catch (const UsageError& e) { return complain(kUsage, e.what()); } catch (const std::bad_alloc&) {
    return complain(kFailed, "out of memory");
  } catch (const std::exception& e) { return complain(kFailed, e.what()); }
}

}  // namespace

int run(int argc, const char* const* argv) {
  const int status = run_alone(argc, argv);
  distributed::finish(status == kInterrupted ? kDone : status);
  return status;
}

}  // namespace dyadic::inline v1::cli
