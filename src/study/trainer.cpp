#include "study/trainer.h"

#include <cmath>

#include "base/check.h"
#include "base/sha256.h"
#include "data/each_tensor.h"
#include "device/backend.h"
#include "dyadic/amp.h"
#include "dyadic/anomaly.h"
#include "dyadic/counters.h"
#include "dyadic/offload.h"
#include "dyadic/ops.h"
#include "dyadic/tensor_file.h"
#include "optim/lost_updates.h"
#include "plan/forward.h"

namespace dyadic::inline v1::study {

void Subject::save(const nn::Module& model, const std::string& folder, const io::Metadata& metadata) const {
  io::save_safetensors(folder + "/model.safetensors", model.state_dict(), metadata);
}
void Subject::load(nn::Module& model, const std::string& folder) const {
  model.load_state_dict(io::open(folder + "/model.safetensors")->all());
}

Placed::Placed(Subject& subject, const Recipe& recipe, const Plan& plan, Device device) {
  manual_seed(plan.seed);
  std::optional<OffloadScope> scope;
  if (plan.on_disk) scope.emplace(plan.offload_folder);
  model = subject.make(recipe, device);
  if (!plan.on_disk) return;
  dispatch_model(*model, {{"", "disk"}}, plan.offload_folder);
  reading_.emplace(device, Category::parameter, offloaded_window(*model));
}

Trainer::Trainer(Subject& subject, const Recipe& recipe, const Plan& plan, Device device)
    : subject_(subject),
      recipe_(recipe),
      plan_(plan),
      device_(device),
      placed_(subject, recipe, plan, device),
      scaler_(65536, recipe.scaler) {
  modules_ = {{"model", placed_.model.get()}};
  optimizer_ = subject.optimizer(model(), recipe, plan);
  schedule_ = subject.schedule(*optimizer_, plan);
  if (!device.is_meta()) stream_ = subject.stream(plan);
  if (plan.shards)
    parallel_ = std::make_unique<distributed::DataParallel>(model(), distributed::world(), plan.shards, plan.spread, plan.wire);
}

Tensor Trainer::loss(const data::Value& batch) {
  std::optional<planning::Forward> planned;
  if (recording_)
    planned.emplace(*recording_);
  else if (plan_.again)
    planned.emplace(*plan_.again, plan_.offload_folder);
  if (!recipe_.compute) return subject_.mean_loss(model(), batch);
  Autocast low(recipe_.compute);
  return subject_.mean_loss(model(), batch);
}

void Trainer::use(std::shared_ptr<const planning::Choice> again, int64_t accumulate) {
  plan_.again = std::move(again);
  plan_.accumulate = accumulate;
}

planning::Recording Trainer::record() {
  planning::Recording recording;
  recording_ = &recording;
  step();
  recording_ = nullptr;
  return recording;
}

double Trainer::step() { return step(device_.is_meta() ? subject_.blank() : stream_->next(done_)); }

static data::Value piece(const data::Value& batch, int64_t i, int64_t count) {
  const int64_t n = distributed::sample_count(batch), each = n / count;
  DY_CHECK_AS(ValueError, n && n % count == 0, "accumulate: a batch of {} cannot be cut into {} equal pieces", n, count);
  return distributed::samples(batch, i * each, (i + 1) * each);
}

// Returns the mean loss of the batch, not finite where backward was left out.
double Trainer::forward_and_backward(const data::Value& batch) {
  if (parallel_)
    return parallel_->backward(batch, [this](const data::Value& shard) { return loss(shard); }, scaler_.get_scale());
  double sum = 0;
  for (int64_t i = 0; i < plan_.accumulate; ++i) {
    Tensor l = loss(plan_.accumulate > 1 ? piece(batch, i, plan_.accumulate) : batch);
    if (plan_.accumulate > 1) l = l / double(plan_.accumulate);
    const double value = device_.is_meta() ? 0 : l.item();
    sum += value;
    if (!std::isfinite(value)) break;
    scaler_.scale(l).backward();
  }
  return sum;
}

double Trainer::step(const data::Value& given) {
  const data::Value batch = device_.is_cuda() ? data::brought(given, device_) : given;
  optimizer_->zero_grad();
  const double value = forward_and_backward(batch);
  if (!std::isfinite(value)) {
    find_first_nan(batch);
    return value;
  }
  scaler_.unscale_(*optimizer_);
  double norm = 0;
  for (auto& g : optimizer_->groups())
    norm += std::pow(parallel_ ? parallel_->grad_norm(g.params) : optim::grad_norm(g.params), 2);
  norm = std::sqrt(norm);
  if (spread() && !std::isfinite(norm)) scaler_.skip(*optimizer_);
  if (!std::isfinite(norm) && !recipe_.scaler) {
    find_first_nan(batch);
    return value;
  }
  const optim::ReportsUpdates reported;  // as the recipe's lost updates
  scaler_.step(*optimizer_, optim::clip_factor(norm, plan_.clip));
  if (parallel_) parallel_->share();
  scaler_.update();
  schedule_->step();
  ++done_;
  return value;
}

// Runs the step again, watching every result.
void Trainer::find_first_nan(const data::Value& batch) {
  optimizer_->zero_grad();
  std::optional<distributed::Gathered> all;
  if (parallel_) all.emplace(*parallel_);
  Anomaly watch;
  Tensor l = loss(batch);
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
  for (auto& [name, t] : placed_.model->named_parameters()) {
    std::string head = fmt::format("{} {} {}\n", name, t.dtype().name(), fmt::join(t.sizes().begin(), t.sizes().end(), "x"));
    h.update(head.data(), head.size());
    const Tensor here = t.detach().to(cpu);
    h.update(here.data_ptr(), size_t(here.nbytes()));
  }
  return h.hex();
}

void fill_bytes(Bytes& b, const MemoryStats& s, const MemoryStats& before, Count Amount::* side) {
  for (auto [category, amount] : kAmounts) (b.*amount).*side = s.peak[size_t(category)] - before.live[size_t(category)];
  b.peak.*side = s.total_peak - before.total;
}

DryRun predict(Subject& subject, const Recipe& recipe, const Plan& plan) {
  const MetaAs planned(plan.device);
  MemoryStats before = memory_stats(meta);
  GeneratorState random = generator_state();
  DryRun d;
  {
    Trainer t(subject, recipe, plan, meta);
    reset_peak_memory_stats(meta);
    if (plan.steps > 1) t.step();
    Counting::clear();
    Counting counting;
    t.step();  // of several, this one holds the optimizer's states from its beginning
    d.flops = Counting::flops();
    if (const data::Value last = subject.short_blank(plan.steps); last.kind() != data::Value::Kind::none) t.step(last);
    fill_bytes(d.bytes, memory_stats(meta), before, &Amount::predicted);
    for (Amount Bytes::* of : {&Bytes::data, &Bytes::peak}) *(d.bytes.*of).predicted += subject.bytes_ahead();
  }
  set_generator_state(random);
  return d;
}

}  // namespace dyadic::inline v1::study
