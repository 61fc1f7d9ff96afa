// The progress bar. One line, rewritten in place at most ten times a second; elsewhere a plain line every five seconds.
#include "dyadic/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"
#include "dyadic/distributed.h"
#include "train/clock_text.h"

namespace dyadic::inline v1::train {

namespace {
constexpr double kRedraw = 0.1;  // seconds

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(double share, int cells) {
  const int half = int(std::clamp(share, 0.0, 1.0) * cells * 2 + 0.5);
  std::string text;
  for (int i = 0; i < cells; ++i) text += half >= 2 * i + 2 ? "━" : half == 2 * i + 1 ? "╸" : "─";
  return text;
}

}  // namespace

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-:--";
  const int64_t s = std::llround(seconds);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60) : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Progress::Settings Progress::standard_error() {
  Settings s;
  const char* term = std::getenv("TERM");
  s.terminal = isatty(STDERR_FILENO) && term && std::strcmp(term, "dumb") != 0;
  s.width = terminal_width;
  s.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  s.clock = seconds_now;
  return s;
}

Progress::Settings Progress::silent() {
  return {false, [] { return 80; }, [](std::string_view) {}, seconds_now};
}

Progress::Settings Progress::of_ranks() {
  const int rank = distributed::world().rank();
  if (rank == 0) return standard_error();
  Settings s = silent();
  if (const char* folder = std::getenv("DYADIC_LOGS")) {
    const std::string path = fmt::format("{}/rank-{}.log", folder, rank);
    const auto file = std::make_shared<std::ofstream>(path, std::ios::app);
    DY_CHECK(*file, "DYADIC_LOGS: {} cannot be written; name a folder that is there", path);
    s.lines = 0;
    s.write = [file](std::string_view text) { *file << text << std::flush; };
  }
  return s;
}

Progress::Progress(Settings settings) : s_(std::move(settings)), study_started_(s_.clock()) {}
Progress::~Progress() { erase(); }

void Progress::plan(int64_t total_steps) {
  planned_ = total_steps;
  finished_ = 0;
  study_started_ = s_.clock();
}

void Progress::begin(std::string_view name, int64_t steps, int64_t first_step) {
  end();
  name_ = name, steps_ = steps, first_ = done_ = first_step;
  loss_ = tokens_per_s_ = kUnknown;
  started_ = last_drawn_ = s_.clock();
  active_ = true;
  if (s_.terminal) draw(started_);
}

void Progress::step(int64_t done, double loss, double tokens_per_s) {
  if (!active_) return;
  done_ = done;
  if (!std::isnan(loss)) loss_ = loss;
  if (!std::isnan(tokens_per_s)) tokens_per_s_ = tokens_per_s;
  const double now = s_.clock();
  if (now - last_drawn_ < (s_.terminal ? kRedraw : s_.lines)) return;
  last_drawn_ = now;
  if (s_.terminal) {
    draw(now);
  } else {
    print_line(now);
  }
}

void Progress::note(std::string_view line) {
  erase();
  s_.write(fmt::format("{}\n", line));
  if (active_ && s_.terminal) draw(s_.clock());
}

void Progress::end(std::string_view line) {
  if (active_) {
    erase();
    finished_ += done_ - first_;
    active_ = false;
  }
  if (!line.empty()) s_.write(fmt::format("{}\n", line));
}

namespace {
// Time left, from the pace so far; NaN (shown as -:--) before the first step is done.
double left(double elapsed, int64_t done, int64_t of) {
  return done > 0 ? elapsed / double(done) * double(of - done) : Progress::kUnknown;
}
}  // namespace

void Progress::draw(double now) {
  const int width = std::max(20, s_.width()) - 1;  // the last column makes some terminals wrap
  const int64_t study_done = finished_ + done_ - first_;
  // The parts in the order in which they are given up when the line gets narrow: from the back.
  std::vector<std::string> parts;
  parts.push_back(fmt::format("{}/{}", done_, steps_));
  parts.push_back(clock_text(left(now - started_, done_ - first_, steps_ - first_)) + " left");
  if (!std::isnan(loss_)) parts.push_back(fmt::format("loss {:.4f}", loss_));
  if (!std::isnan(tokens_per_s_)) parts.push_back(human_count(tokens_per_s_) + " tok/s");
  if (planned_ > steps_) parts.push_back("study " + clock_text(left(now - study_started_, study_done, planned_)) + " left");
  const int name_cells = std::max(display_width(name_), 12);
  std::string text;
  for (size_t keep = parts.size();; --keep) {
    text.clear();
    for (size_t i = 0; i < keep; ++i) text += (i ? "  " : "") + parts[i];
    if (display_width(text) + name_cells + 14 <= width || keep == 1) break;
  }
  const int cells = std::clamp(width - display_width(text) - name_cells - 4, 4, 40);
  const double share = steps_ > 0 ? double(done_) / double(steps_) : 1;
  std::string line = fmt::format("{}{:{}}  {}  {}", name_, "", name_cells - display_width(name_), bar(share, cells), text);
  if (display_width(line) > width) line = parts[0];
  s_.write("\r" + line + "\x1b[K");
  drawn_ = true;
}

void Progress::print_line(double now) {
  std::string text = fmt::format("{}: step {}/{}", name_, done_, steps_);
  if (!std::isnan(loss_)) text += fmt::format(", loss {:.4f}", loss_);
  if (!std::isnan(tokens_per_s_)) text += fmt::format(", {} tokens/s", human_count(tokens_per_s_));
  s_.write(text + fmt::format(", {} left\n", clock_text(left(now - started_, done_ - first_, steps_ - first_))));
}

void Progress::erase() {
  if (drawn_) s_.write("\r\x1b[K");
  drawn_ = false;
}

}  // namespace dyadic::inline v1::train
