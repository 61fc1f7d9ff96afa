// The whole steps of a compiled function: runs that are compared, those that run again without the program, and why others do
// not.
#pragma once
#include <map>

#include "graph/replay.h"

namespace dyadic::inline v1::graph {

struct StepOptions {
  bool whole = false;      // steps run again without their program
  bool fullgraph = false;  // a value that is read on the way is an error
  bool check = false;      // the program runs as well, and bits are compared
};

class Steps {
 public:
  StepOptions options;
  int64_t replayed = 0, checked = 0;

  Replay* find(const StepEntry& entry);  // null: none fits, the program runs
  bool wants_recording();                // of a run of the program
  void add(std::shared_ptr<Step> step);  // a run that has ended
  std::string explain(int64_t runs) const;

 private:
  static constexpr size_t kMostKept = 8;
  static constexpr int kPatience = 8, kPause = 32;  // runs in vain before a pause, and runs that are not recorded then
  std::map<const Storage*, int> holders() const;
  void drop_stale();
  void keep(std::shared_ptr<Step> step);
  struct Kept {
    std::shared_ptr<Step> step;
    std::unique_ptr<Replay> replay;
  };
  std::vector<Kept> kept_;
  std::map<std::string, int64_t> reasons_;
  int in_vain_ = 0, pause_ = 0;
};

}  // namespace dyadic::inline v1::graph
