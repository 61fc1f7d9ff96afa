// The built-in subject: a GPT that reads text. AdamW with nanoGPT's rule of decay, a warm-up and a cosine.
#pragma once
#include <optional>
#include <string>

#include "dyadic/gpt.h"
#include "study/corpus.h"
#include "study/subject.h"

namespace dyadic::inline v1::study {

struct TrainSetup {
  models::GptConfig model;
  int64_t batch = 8;
  int64_t steps = 1000;  // of the whole run: the learning rate's schedule depends on it
  double lr = 1e-3;
  std::optional<double> min_lr;   // a tenth of lr
  std::optional<int64_t> warmup;  // a tenth of the steps, at most 100
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0.1, clip = 1;
  uint64_t seed = 0;   // of the initial weights and the batches
  int64_t shards = 0;  // that each batch is cut into, over all ranks; 0: none
  distributed::Spread spread = distributed::Spread::none;
  DType wire = {};  // that shards' gradients travel in
  Device device = cpu;

  Plan plan() const { return {steps, seed, clip, device, shards, spread, wire}; }
};

// Tokens and targets of a step as tensors [batch, block] (i64, counted as data).
std::pair<Tensor, Tensor> batch_tensors(const TextBatches& batches, int64_t step, int64_t batch, int64_t block);

class TextSubject : public Subject {
 public:
  TextSubject(TrainSetup setup, const Corpus& corpus, std::string preset = "")  // borrows the corpus
      : setup_(std::move(setup)), corpus_(corpus), preset_(std::move(preset)) {}

  std::shared_ptr<nn::Module> make(const Recipe& recipe, Device device) override;
  std::unique_ptr<optim::Optimizer> optimizer(const nn::Module& model, const Recipe& recipe, const Plan& plan) override;
  std::unique_ptr<optim::Schedule> schedule(optim::Optimizer& optimizer, const Plan& plan) override;
  std::unique_ptr<Stream> stream(const Plan& plan) override;
  data::Value blank() override;
  Tensor mean_loss(nn::Module& model, const data::Value& batch) override;
  int64_t items() const override { return setup_.batch * setup_.model.block; }
  void evaluation(int64_t size, FunctionRef<bool(const data::Value&)> each) override;
  int64_t evaluation_steps() const override { return corpus_.val_size() / items() + 1; }
  Tensor losses(nn::Module& model, const data::Value& batch, Tensor* logits) override;
  bool all_stored() const override { return true; }
  int64_t window() const override { return setup_.model.block; }
  void describe(StudyResult& result) const override;
  Identity identity(const StudyResult& result) const override;
  void save(const nn::Module& model, const std::string& folder, const io::Metadata& metadata) const override;
  void load(nn::Module& model, const std::string& folder) const override;

 private:
  TrainSetup setup_;
  const Corpus& corpus_;
  std::string preset_;
};

}  // namespace dyadic::inline v1::study
