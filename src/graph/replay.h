// A Step that runs again: pointers into an arena by liveness, what leaves made anew.
#pragma once
#include <map>

#include "graph/recorder.h"

namespace dyadic::inline v1::graph {

class Replay {
 public:
  // `before`: an earlier run that did the same. An argument that was the same tensor in both must be it again.
  Replay(std::shared_ptr<const Step> step, const Step& before);
  void count_holders(const std::map<const Storage*, int>& of_steps);
  bool fits(const StepEntry& entry);  // the arguments are those of run()
  std::vector<Tensor> run(const StepEntry& entry);
  const Step& step() const { return *step_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t runs = 0;

  // Of a call whose program runs as well: what its memory holds before, and then whether the step makes the same of it. Error:
  // the first call that differs.
  using Snapshot = std::vector<std::string>;  // by slot
  Snapshot snapshot(const StepEntry& entry);
  void check(const Step& program, const Snapshot& before, const StepTrace& trace) const;

 private:
  struct Patch {
    int pointer;
    int64_t offset;
  };
  struct Run {
    const Plan* plan;
    const FusedPlan* fused;
    int pointer, inputs;
  };
  void lay_out();
  void set_pointers();
  void patch(int slot, void* base);
  bool arguments_fit(std::span<const Tensor> arguments);
  void make(int slot);
  Tensor shown(const Layout& l) const;
  void give(const Instruction& i);
  void count_writes(const StepEntry& entry);
  std::vector<Tensor> results(const StepEntry& entry) const;

  std::shared_ptr<const Step> step_;
  std::vector<bool> fixed_, same_;       // by argument; by result: it is one tensor each time
  std::vector<ArgumentSeen> arguments_;  // of the call
  // What is compared at entry, in rows.
  std::vector<std::pair<const Storage*, void*>> states_;
  std::vector<int> holders_;                           // of each state: kept steps; nobody else: the program has left it
  std::vector<std::pair<const void*, bool>> modules_;  // training
  std::vector<std::pair<const Tensor*, const TensorImpl*>> entries_;  // of modules
  std::vector<std::pair<const TensorImpl*, bool>> leaves_;            // whether they have gradients
  std::vector<int> argument_slots_, gradient_slots_, written_slots_;
  std::vector<char*> at_;  // of slots that are in the arena
  int64_t arena_bytes_ = 0, workspace_bytes_ = 0;
  void* workspace_ = nullptr;
  Tensor arena_;
  std::vector<void*> pointers_;
  std::vector<std::vector<Patch>> patches_;   // by slot
  std::vector<std::pair<int, int>> leaving_;  // the instruction that begins it, the slot
  std::vector<const Layout*> first_layout_;   // by slot
  std::vector<Tensor> made_;                  // by slot, during a run
  std::vector<Tensor> gradients_;             // at entry, by leaf
  std::vector<Run> runs_;
};

}  // namespace dyadic::inline v1::graph
