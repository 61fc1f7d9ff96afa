// One model trained under one recipe, a step at a time; on cpu for real, on meta to predict its memory. Everything a step
// depends on (weights, optimizer, scaler, schedule, random state, data position) can be saved and restored to the bit.
#pragma once
#include <memory>
#include <optional>

#include "dyadic/gpt.h"
#include "dyadic/optim.h"
#include "study/corpus.h"
#include "study/recipe.h"
#include "study/result.h"

namespace dyadic::inline v1::study {

struct TrainSetup {
  models::GptConfig model;
  int64_t batch = 8;
  int64_t steps = 1000;  // of the whole run: the learning rate's schedule depends on it
  double lr = 1e-3;
  std::optional<double> min_lr;   // a tenth of lr
  std::optional<int64_t> warmup;  // a tenth of the steps, at most 100
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0.1, clip = 1;
  uint64_t seed = 0;  // of the initial weights and the batches
};

class Trainer {
 public:
  Trainer(const TrainSetup& setup, const Recipe& recipe, Device device = cpu);

  // One step on tokens and targets [batch, block]; returns the loss in nats per token (0 on meta). A loss or gradient norm that
  // is not finite (without a scaler to skip it) leaves the weights alone and fills nan().
  double step(const Tensor& tokens, const Tensor& targets);
  double step(const Batches& batches);  // the batch of this step's number

  int64_t steps_done() const { return done_; }
  models::Gpt& model() { return *model_; }
  optim::AdamW& optimizer() { return *optimizer_; }
  const optim::GradScaler& scaler() const { return scaler_; }
  const std::optional<FirstNaN>& nan() const { return nan_; }
  const Recipe& recipe() const { return recipe_; }

  std::string weights_sha256() const;                                        // over names, dtypes, shapes and bytes
  void save(const std::string& path, const std::string& fingerprint) const;  // a checkpoint, written atomically
  void load(const std::string& path, const std::string& fingerprint);        // Error if it belongs to another run or is damaged

 private:
  Tensor loss(const Tensor& tokens, const Tensor& targets);
  void find_first_nan(const Tensor& tokens, const Tensor& targets);
  TrainSetup setup_;
  Recipe recipe_;
  Device device_;
  std::unique_ptr<models::Gpt> model_;
  std::unique_ptr<optim::AdamW> optimizer_;
  optim::GradScaler scaler_;
  optim::WarmupCosine schedule_;
  std::optional<FirstNaN> nan_;
  int64_t done_ = 0;
};

// Tokens and targets of a step as tensors [batch, block] (i64, counted as data).
std::pair<Tensor, Tensor> batch_tensors(const Batches& batches, int64_t step, int64_t batch, int64_t block);

// Peak bytes by category of training under the recipe, from a dry run of two steps on meta: nothing is allocated.
Bytes predict(const TrainSetup& setup, const Recipe& recipe);
// Copies the ledger's peaks since `live_before` (memory_stats().live when the run began) into one side of `bytes`.
void fill_bytes(Bytes& bytes, const MemoryStats& stats, const MemoryStats& before, Count Amount::* side);

}  // namespace dyadic::inline v1::study
