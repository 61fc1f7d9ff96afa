// One model trained under one recipe, a step at a time; on cpu or cuda for real, on meta to predict its memory. Everything a
// step depends on (weights, optimizer, scaler, schedule, random state, data position) can be saved and restored to the bit.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "device/allocator.h"
#include "dyadic/data_parallel.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

// A model of the subject where the plan has it; of one on disk the ledger counts what is in memory at a time.
struct Placed {
  std::shared_ptr<nn::Module> model;
  Placed(Subject& subject, const Recipe& recipe, const Plan& plan, Device device);

 private:
  std::optional<LedgerCharge> reading_;
};

class Trainer {
 public:
  Trainer(Subject& subject, const Recipe& recipe, const Plan& plan, Device device);  // borrows the subject
  Trainer(Subject& subject, const Recipe& recipe, const Plan& plan) : Trainer(subject, recipe, plan, plan.device) {}

  // One step on the next batch, or on a given one; returns its mean loss (0 on meta). A loss or gradient norm that is not
  // finite (without a scaler to skip it) leaves the weights alone and fills nan().
  double step();
  double step(const data::Value& batch);

  // How it fits into memory, from the next step on; what the plan says otherwise.
  void use(std::shared_ptr<const planning::Choice> again, int64_t accumulate);
  planning::Recording record();  // a step that writes its forward down

  int64_t steps_done() const { return done_; }
  nn::Module& model() { return *placed_.model; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  const optim::GradScaler& scaler() const { return scaler_; }
  const std::optional<FirstNaN>& nan() const { return nan_; }
  distributed::DataParallel* parallel() { return parallel_.get(); }  // null: batches stay whole

  std::string weights_sha256() const;  // over names, dtypes, shapes and bytes
  // A checkpoint, written atomically: a file, or, of what is spread over ranks, a part by each. On every rank.
  void save(const std::string& path, const std::string& fingerprint);
  void load(const std::string& path, const std::string& fingerprint);  // Error if it belongs to another run or is damaged

 private:
  Tensor loss(const data::Value& batch);
  double forward_and_backward(const data::Value& batch);
  void find_first_nan(const data::Value& batch);
  void describe(train::Checkpoint& run, const std::string& fingerprint);
  bool spread() const { return parallel_ && parallel_->spread() != distributed::Spread::none; }
  Subject& subject_;
  Recipe recipe_;
  Plan plan_;
  Device device_;
  Placed placed_;
  std::vector<std::pair<std::string, nn::Module*>> modules_;  // of the checkpoint
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::GradScaler scaler_;
  std::unique_ptr<optim::Schedule> schedule_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<distributed::DataParallel> parallel_;
  std::optional<FirstNaN> nan_;
  planning::Recording* recording_ = nullptr;
  int64_t done_ = 0;
};

// Peak bytes by category of training under the recipe and a step's FLOPs, from a dry run of two steps on meta: nothing is
// allocated.
struct DryRun {
  Bytes bytes;
  double flops = 0;
};
DryRun predict(Subject& subject, const Recipe& recipe, const Plan& plan);
// The categories of the ledger that are shown, and where.
inline constexpr std::pair<Category, Amount Bytes::*> kAmounts[] = {{Category::parameter, &Bytes::parameters},
                                                                    {Category::gradient, &Bytes::gradients},
                                                                    {Category::optimizer, &Bytes::optimizer},
                                                                    {Category::activation, &Bytes::activations},
                                                                    {Category::workspace, &Bytes::workspace},
                                                                    {Category::temporary, &Bytes::temporary},
                                                                    {Category::data, &Bytes::data}};
// Copies the ledger's peaks since `before` (memory_stats() when the run began) into one side of `bytes`.
void fill_bytes(Bytes& bytes, const MemoryStats& stats, const MemoryStats& before, Count Amount::* side);

}  // namespace dyadic::inline v1::study
