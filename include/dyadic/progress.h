// Progress of a long run on standard error: a bar that redraws itself on a terminal, a plain line every few seconds elsewhere.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "dyadic/data.h"

namespace dyadic::inline v1::train {

class Progress {
 public:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  struct Settings {
    bool terminal = false;
    data::Callback<int()> width;                   // columns, asked at each redraw; terminal only
    data::Callback<void(std::string_view)> write;  // where the text goes
    data::Callback<double()> clock;                // seconds, monotonic
    double lines = 5;                              // seconds from one plain line to the next
  };
  static Settings standard_error();  // a bar if stderr is a terminal and TERM is not dumb
  static Settings silent();
  // Of several processes (dyadic/distributed.h) the first one's is standard_error(); the others write each step to
  // rank-<N>.log in the folder that the variable DYADIC_LOGS names, or nothing where there is none.
  static Settings of_ranks();

  explicit Progress(Settings settings = standard_error());
  ~Progress();
  Progress(const Progress&) = delete;

  void plan(int64_t total_steps);  // of all recipes still to run: gives the time left of the whole study
  // A new stage: `name` ("bf16", "nf4 evaluation"), its number of steps, and where it starts (after --resume).
  void begin(std::string_view name, int64_t steps, int64_t first_step = 0);
  void step(int64_t done, double loss = kUnknown, double tokens_per_s = kUnknown);  // cheap to call at every step
  void note(std::string_view line);                                                 // a line that stays, above the bar
  void end(std::string_view line = {});                                             // the bar goes, the line (if any) stays

 private:
  void draw(double now);
  void print_line(double now);
  void erase();
  Settings s_;
  std::string name_;
  int64_t steps_ = 0, first_ = 0, done_ = 0, planned_ = 0, finished_ = 0;
  double loss_ = kUnknown, tokens_per_s_ = kUnknown;
  double started_ = 0, study_started_ = 0, last_drawn_ = 0;
  bool active_ = false, drawn_ = false;
};

}  // namespace dyadic::inline v1::train
