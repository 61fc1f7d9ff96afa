// One step of training, and the mean loss of data.
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/interrupt.h"
#include "plan/forward.h"
#include "tune/fit.h"
#include "tune/loop.h"

namespace dyadic::inline v1::tune {

Lesson::~Lesson() = default;

static int64_t count_of(const data::Value& batch) { return batch["count"].number().to<int64_t>(); }

Stepper::Stepper(nn::Module& model, Lesson& lesson, const StepOptions& options) : model_(model), lesson_(lesson), o_(options) {
  bool narrow = false;
  for (auto& [name, p] : model.named_parameters())
    if (p.requires_grad()) trained_.emplace_back(name, p), narrow = narrow || p.dtype().itemsize() == 2;
  DY_CHECK_AS(ValueError, !trained_.empty(), "finetune: nothing is trained: no parameter requires a gradient");
  optim::Options o{{"lr", o_.lr}, {"weight_decay", o_.weight_decay}};
  if (o_.state) o.set("state", o_.state);
  if (narrow) o.set("compensation", "kahan");  // or small steps would round to nothing
  optimizer_ = std::make_unique<optim::Optimizer>(o_.optimizer, trained_, std::move(o));
  if (o_.shards)
    parallel_ = std::make_unique<distributed::DataParallel>(model, distributed::world(), o_.shards, o_.spread, o_.wire);
}

StepOptions step_options(const FinetuneOptions& o) {
  return {.optimizer = o.optimizer,
          .weight_decay = o.weight_decay,
          .clip = o.clip,
          .state = o.state,
          .compute = o.compute,
          .shards = shards_of(o),
          .spread = o.spread,
          .wire = o.wire};
}

Tensor Stepper::loss(const data::Value& batch) {
  std::optional<planning::Forward> planned;  // ends before backward begins
  if (recording_)
    planned.emplace(*recording_);
  else if (o_.again)
    planned.emplace(*o_.again);
  if (!o_.compute) return lesson_.loss(batch);
  const Autocast low(o_.compute);
  return lesson_.loss(batch);
}

planning::Recording Stepper::record(const train::Window& batches) {
  planning::Recording recording;
  recording_ = &recording;
  step(batches);
  recording_ = nullptr;
  return recording;
}

double Stepper::summed(const train::Window& batches) {
  int64_t count = 0;
  for (auto& [share, batch] : batches) count += count_of(batch);
  double sum = 0;
  for (auto& [share, batch] : batches) {
    const Tensor l = loss(batch) * (1 / double(std::max<int64_t>(count, 1)));
    if (!l.is_meta()) sum += l.item();
    l.backward();
  }
  return sum;
}

// Shards are weighed by their rows, and what they learn is not: the batch's count is all shards'.
double Stepper::sharded(const data::Value& batch) {
  const double share = double(distributed::sample_count(batch)) / double(std::max<int64_t>(count_of(batch), 1));
  return parallel_->backward(
      batch, [&](const data::Value& shard) { return loss(shard) * (share / double(distributed::sample_count(shard))); });
}

double Stepper::step(const train::Window& batches) {
  optimizer_->zero_grad();
  const double sum = parallel_ ? sharded(batches[0].second) : summed(batches);
  const double norm = parallel_ ? parallel_->grad_norm(trained_) : optim::grad_norm(trained_);
  DY_CHECK_AS(ValueError, std::isfinite(sum) && std::isfinite(norm),
              "finetune: the {} is not finite in step {}: lower the learning rate, or compute in float32",
              std::isfinite(sum) ? "gradient" : "loss", optimizer_->steps() + 1);
  optimizer_->step(optim::clip_factor(norm, o_.clip));
  if (parallel_) parallel_->share();
  return sum;
}

std::optional<double> Stepper::mean_loss(data::DataLoader& loader) {
  const NoGrad guard;
  const bool training = model_.training();
  std::optional<distributed::Gathered> all;
  if (parallel_) all.emplace(*parallel_);
  model_.eval();
  const int64_t ranks = parallel_ ? parallel_->group().size() : 1, rank = parallel_ ? parallel_->group().rank() : 0;
  std::vector<double> sums;  // of the batches
  int64_t count = 0;
  for (const data::Value& batch : loader) {
    const bool mine = int64_t(sums.size()) % ranks == rank && !interrupted();
    sums.push_back(mine ? loss(batch).item() : 0), count += count_of(batch);
  }
  model_.train(training);
  sums.push_back(interrupted());
  // Of each one rank has it: nothing is rounded.
  const Tensor every = from_data(sums.data(), {int64_t(sums.size())}, f64);
  if (parallel_) parallel_->group().all_reduce(every);
  const auto* s = every.data<double>();
  if (s[sums.size() - 1] > 0) return {};
  return std::accumulate(s, s + sums.size() - 1, 0.0) / double(std::max<int64_t>(count, 1));
}

}  // namespace dyadic::inline v1::tune
