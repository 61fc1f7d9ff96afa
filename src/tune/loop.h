// The loop that trains a model further: steps of accumulated batches, evaluation, checkpoints, progress.
#pragma once
#include <memory>

#include "dyadic/data.h"
#include "dyadic/finetune.h"
#include "dyadic/train.h"
#include "plan/recording.h"

namespace dyadic::inline v1::tune {

// What is learned of a batch, whose "count" says how much that is.
class Lesson {
 public:
  virtual ~Lesson();
  virtual Tensor loss(const data::Value& batch) = 0;  // summed over what is learned; recorded where gradients are
};

struct StepOptions {
  std::string optimizer = "AdamW";
  double lr = 1e-3, weight_decay = 0, clip = 1;
  DType state = {}, compute = {};
  std::shared_ptr<const planning::Choice> again = {};  // calls of forward that backward makes again; null: none
  int64_t shards = 0;                                  // that a step's one batch is cut into, over all ranks; 0: none
  distributed::Spread spread = distributed::Spread::none;
  DType wire = {};
};
StepOptions step_options(const FinetuneOptions& options);

// Steps of an optimizer on those parameters of a model that require gradients; on meta they only take what memory they would.
class Stepper {
  nn::Module& model_;
  Lesson& lesson_;
  StepOptions o_;
  nn::NamedTensors trained_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<distributed::DataParallel> parallel_;
  planning::Recording* recording_ = nullptr;

 public:
  Stepper(nn::Module& model, Lesson& lesson, const StepOptions& options);  // ValueError where nothing is trained
  double step(const train::Window& batches);                               // the mean loss; ValueError where it is not finite
  // In evaluation mode, unrecorded; nothing where it was interrupted. Ranks share the batches.
  std::optional<double> mean_loss(data::DataLoader& loader);
  planning::Recording record(const train::Window& batches);  // a step whose forward is written down
  void use(std::shared_ptr<const planning::Choice> again) { o_.again = std::move(again); }
  optim::Optimizer& optimizer() { return *optimizer_; }
  const nn::NamedTensors& trained() const { return trained_; }
  nn::Module& model() const { return model_; }
  distributed::DataParallel* parallel() const { return parallel_.get(); }  // null: batches stay whole

 private:
  Tensor loss(const data::Value& batch);
  double sharded(const data::Value& batch);
  double summed(const train::Window& batches);
};

struct LoopOptions {
  StepOptions step;
  int64_t steps = 0, batch = 4, accumulate = 1, eval_every = 0, checkpoint_every = 0;
  double warmup = 0.03;
  uint64_t seed = 0;
  std::string name, folder;   // of history.csv and checkpoints; empty: there are none
  std::string config = "{}";  // what a run that goes on must agree with
  bool resume = false, progress = false, keep_zeros = false, measure = false;
  bool (*on_step)(void* caller, const Step& step) = nullptr;
  void* caller = nullptr;
};
struct LoopResult {
  bool finished = false;
  int64_t steps = 0;
  double loss = 0, seconds = 0;  // loss: of the last step
  std::optional<double> eval_before, eval_after;
  MemoryUse measured = {};
  int64_t sent = 0;  // to other ranks, in a step
};
MemoryUse peaks_since(const MemoryStats& before, Device device);

// Rows that a loader makes batches of; a sample of the dataset goes to `collate` with others.
struct Rows {
  std::shared_ptr<data::Dataset> dataset;
  data::Callback<data::Value(std::vector<data::Value>)> collate;
};
// evaluation: may have no dataset. The model is in evaluation mode afterwards.
LoopResult run_loop(nn::Module& model, Lesson& lesson, const Rows& training, const Rows& evaluation,
                    const LoopOptions& options);

// The checkpoints of a folder; they are of no use once the run has ended.
void remove_checkpoints(const std::string& folder);

}  // namespace dyadic::inline v1::tune
