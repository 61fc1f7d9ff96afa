// A plan that makes training fit into memory: found on the device meta, before anything is allocated.
//
//   dy::MemoryPlan p = dy::plan(make_model, batch, {.memory_limit = int64_t(4) << 30});
//   std::puts(p.text().c_str());
//   for (...) {
//     dy::Tensor loss;
//     {
//       dy::Recomputing again(p.chosen());          // forward alone
//       loss = loss_of(model, batch);
//     }
//     loss.backward();
//   }
//
// docs/plan.md has what is planned and how.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "dyadic/study.h"

namespace dyadic::inline v1 {

namespace planning {
struct Choice;
class Forward;
}  // namespace planning

// One way to train: what it changes, what it takes.
struct PlanCandidate {
  std::string name;        // "as it is", "36 calls again (linear 24, gelu 12)"
  int64_t again = 0;       // calls of forward that backward makes again, from what was kept: the same bits
  int64_t accumulate = 1;  // equal pieces of a batch whose gradients are added: other roundings, and other random numbers
  DType states = f32;      // of the optimizer
  bool on_disk = false;    // parameters and states are: dispatch_model(model, {{"", "disk"}}, folder), or OffloadScope
  int64_t activations_on_disk = 0;  // bytes of what backward needs that are written to a file there, and read again
  int64_t moved = 0;                // bytes that a step reads from and writes to disk
  std::string offload_folder;
  bool exact = true;    // the same bits as without a plan
  bool allowed = true;  // exact, or asked for
  study::Bytes bytes;   // predicted: each category's peak; of what is on disk, what is read at a time
  double seconds = 0;   // predicted, of a step: by the machine's measured peaks
  bool fits = true;     // the peak, in the limit
  std::shared_ptr<const planning::Choice> choice;
  int64_t peak() const { return *bytes.peak.predicted; }
};

struct MemoryPlan {
  int64_t limit = 0;                      // bytes; 0: none
  std::vector<PlanCandidate> candidates;  // those that nothing beats in both, in the order of the time they cost
  DType states = f32;                     // of the recipe that is planned
  int chosen_index = -1;                  // the fastest that is allowed and fits; -1: none does

  bool fits() const { return chosen_index >= 0; }
  // OutOfMemoryError that names the least that would do, and what would have to be allowed, where none fits.
  const PlanCandidate& chosen() const;
  int64_t least(bool allowed = true) const;  // bytes: the smallest limit that can be met; not allowed: by any candidate
  std::string text(int width = 100, bool color = false) const;  // a table, and what is chosen
};

struct PlanOptions {
  nn::ByName by_name = {};
  study::Loss loss = {};  // as study::PredictOptions has it
  study::Recipe recipe = {};
  std::string optimizer = "AdamW";
  optim::Options optimizer_options = {};
  int64_t memory_limit = 0;             // bytes that all tensors of the training may take; 0: none
  std::string offload_folder = "";      // where parameters and states may lie; empty: they stay in memory
  std::vector<std::string> allow = {};  // what changes results: "accumulation", "states"; else it is offered
};
// Plans steps of training on batches like `batch`. Nothing of the model's size is allocated; a model made without arguments is
// made in memory first. Errors are those of the model on meta, and ValueError for what cannot be allowed.
MemoryPlan plan(const study::MakeModel& make_model, const data::Value& batch, const PlanOptions& options = {});

// Forward, on this thread, by a plan while it lives; to be ended before backward begins. Calls that differ from those that were
// planned keep their results as ever, so that gradients are always right; what backward reads again must not be written in
// place meanwhile: an Error then.
class Recomputing {
  std::unique_ptr<planning::Forward> forward_;
  std::shared_ptr<const planning::Choice> choice_;

 public:
  explicit Recomputing(const PlanCandidate& candidate);
  ~Recomputing();
  Recomputing(const Recomputing&) = delete;
};

}  // namespace dyadic::inline v1
