#include "study/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/sha256.h"
#include "dyadic/amp.h"
#include "dyadic/anomaly.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::study {
namespace {

// Matrices decay, vectors (biases, norms) do not: nanoGPT's rule.
std::vector<optim::ParamGroup> groups(const models::Gpt& model, const Recipe& r, const TrainSetup& s) {
  optim::AdamWOptions o;
  o.lr = s.lr;
  o.betas = {s.beta1, s.beta2};
  o.weight_decay = s.weight_decay;
  o.state = r.state;
  o.stochastic_rounding = r.stochastic_rounding;
  o.seed = s.seed ^ 0x5eed;
  optim::ParamGroup matrices{{}, o}, vectors{{}, o};
  vectors.options.set("weight_decay", 0.0);
  for (auto& entry : model.named_parameters()) (entry.second.dim() >= 2 ? matrices : vectors).params.push_back(entry);
  return {matrices, vectors};
}

}  // namespace

std::pair<Tensor, Tensor> batch_tensors(const Batches& batches, int64_t step, int64_t batch, int64_t block) {
  CategoryScope scope(Category::data);
  Tensor x = empty({batch, block}, i64), y = empty({batch, block}, i64);
  batches.fill(step, x.data<int64_t>(), y.data<int64_t>());
  return {x, y};
}

Trainer::Trainer(const TrainSetup& setup, const Recipe& recipe, Device device)
    : setup_(setup), recipe_(recipe), device_(device), scaler_(65536, recipe.scaler) {
  manual_seed(setup.seed);
  model_ = std::make_unique<models::Gpt>(setup.model, nn::Options{recipe.parameters, device});
  optimizer_ = std::make_unique<optim::AdamW>(groups(*model_, recipe, setup), optim::AdamWOptions{},
                                              std::vector<std::string>{"tok.weight", "pos.weight"});
  schedule_ = {setup.lr, setup.min_lr.value_or(setup.lr / 10), setup.warmup.value_or(std::min<int64_t>(100, setup.steps / 10)),
               setup.steps};
}

Tensor Trainer::loss(const Tensor& tokens, const Tensor& targets) {
  if (!recipe_.compute) return model_->loss(tokens, targets);
  Autocast low(recipe_.compute);
  return model_->loss(tokens, targets);
}

double Trainer::step(const Tensor& tokens, const Tensor& targets) {
  optimizer_->zero_grad();
  double value;
  {
    Tensor l = loss(tokens, targets);
    value = device_.is_meta() ? 0 : l.item();
    if (!std::isfinite(value)) {
      find_first_nan(tokens, targets);
      return value;
    }
    scaler_.scale(l).backward();
  }
  scaler_.unscale_(*optimizer_);
  double norm = 0;
  for (auto& g : optimizer_->groups()) norm += std::pow(optim::grad_norm(g.params), 2);
  norm = std::sqrt(norm);
  if (!std::isfinite(norm) && !recipe_.scaler) {
    find_first_nan(tokens, targets);
    return value;
  }
  optimizer_->set_lr(schedule_(done_));
  scaler_.step(*optimizer_, optim::clip_factor(norm, setup_.clip));
  scaler_.update();
  ++done_;
  return value;
}

double Trainer::step(const Batches& batches) {
  auto [x, y] = batch_tensors(batches, done_, setup_.batch, setup_.model.block);
  return step(x, y);
}

// Runs the step again, watching every result.
void Trainer::find_first_nan(const Tensor& tokens, const Tensor& targets) {
  optimizer_->zero_grad();
  Anomaly watch;
  Tensor l = loss(tokens, targets);
  if (!watch.found()) scaler_.scale(l).backward();
  nan_ = FirstNaN{"", "", done_};
  if (watch.found()) {
    nan_->op = watch.op();
    nan_->module = watch.module();
  }
  optimizer_->zero_grad();
}

std::string Trainer::weights_sha256() const {
  Sha256 h;
  for (auto& [name, t] : model_->named_parameters()) {
    std::string head = fmt::format("{} {} {}\n", name, t.dtype().name(), fmt::join(t.sizes().begin(), t.sizes().end(), "x"));
    h.update(head.data(), head.size());
    h.update(t.data_ptr(), size_t(t.nbytes()));
  }
  return h.hex();
}

void fill_bytes(Bytes& b, const MemoryStats& s, const MemoryStats& before, Count Amount::* side) {
  auto set = [&](Amount& a, Category c) { a.*side = s.peak[size_t(c)] - before.live[size_t(c)]; };
  set(b.parameters, Category::parameter);
  set(b.gradients, Category::gradient);
  set(b.optimizer, Category::optimizer);
  set(b.activations, Category::activation);
  set(b.workspace, Category::workspace);
  set(b.temporary, Category::temporary);
  set(b.data, Category::data);
  b.peak.*side = s.total_peak - before.total;
}

Bytes predict(const TrainSetup& setup, const Recipe& recipe) {
  MemoryStats before = memory_stats(meta);
  GeneratorState random = generator_state();
  Bytes b;
  {
    Trainer t(setup, recipe, meta);
    reset_peak_memory_stats(meta);
    for (int i = 0; i < 2; ++i) {  // the second holds the optimizer's states from its beginning
      Tensor x, y;
      {
        CategoryScope scope(Category::data);
        x = empty({setup.batch, setup.model.block}, i64, meta);
        y = empty({setup.batch, setup.model.block}, i64, meta);
      }
      t.step(x, y);
    }
    fill_bytes(b, memory_stats(meta), before, &Amount::predicted);
  }
  set_generator_state(random);
  return b;
}

}  // namespace dyadic::inline v1::study
