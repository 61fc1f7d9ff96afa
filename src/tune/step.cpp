// One step of training, and the mean loss of data.
#include <cmath>

#include "base/check.h"
#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/interrupt.h"
#include "plan/forward.h"
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

double Stepper::step(const train::Window& batches) {
  const bool real = !trained_[0].second.is_meta();
  int64_t count = 0;
  for (auto& [share, batch] : batches) count += count_of(batch);
  optimizer_->zero_grad();
  double sum = 0;
  for (auto& [share, batch] : batches) {
    const Tensor l = loss(batch) * (1 / double(std::max<int64_t>(count, 1)));
    if (real) sum += l.item();
    l.backward();
  }
  const double norm = optim::grad_norm(trained_);
  DY_CHECK_AS(ValueError, std::isfinite(sum) && std::isfinite(norm),
              "finetune: the {} is not finite in step {}: lower the learning rate, or compute in float32",
              std::isfinite(sum) ? "gradient" : "loss", optimizer_->steps() + 1);
  optimizer_->step(optim::clip_factor(norm, o_.clip));
  return sum;
}

std::optional<double> Stepper::mean_loss(data::DataLoader& loader) {
  const NoGrad guard;
  const bool training = model_.training();
  model_.eval();
  double sum = 0;
  int64_t count = 0;
  for (const data::Value& batch : loader) {
    if (interrupted()) break;
    sum += loss(batch).item(), count += count_of(batch);
  }
  model_.train(training);
  if (interrupted()) return {};
  return sum / double(std::max<int64_t>(count, 1));
}

}  // namespace dyadic::inline v1::tune
