// What a step will take: the same step on a model without memory.
#include <algorithm>

#include "base/check.h"
#include "dyadic/device.h"
#include "dyadic/model_plan.h"
#include "offload/spill.h"
#include "plan/cut.h"
#include "tune/answers.h"
#include "tune/fit.h"

namespace dyadic::inline v1::tune {
namespace {

// The same parameters in the same formats, of nothing; those on disk count nothing.
std::shared_ptr<models::CausalLM> twin_of(models::CausalLM& model) {
  auto twin = models::make(model.config, {f32, meta});
  for (auto& [name, p] : model.named_parameters()) {
    const CategoryScope scope(Category::parameter);
    Tensor t = empty(p.sizes(), p.dtype(), meta);
    if (is_offloaded(p)) t = offload::Spill::blank(t);
    if (p.requires_grad()) t.requires_grad_();
    twin->set_parameter(name, t);
  }
  return twin;
}

// Steps that only take what memory they would.
class DryRun {
  Generator noise_;
  const GeneratorScope scope_{noise_};
  const MemoryStats before_ = memory_stats(meta);
  std::shared_ptr<models::CausalLM> twin_;
  std::unique_ptr<Answers> answers_;
  std::unique_ptr<Stepper> stepper_;
  train::Window window_;
  int64_t reading_;  // of what is on disk, at a time

 public:
  DryRun(models::CausalLM& model, const FinetuneOptions& o) : twin_(twin_of(model)), reading_(offloaded_window(model)) {
    if (o.lora) models::add_adapter(*twin_, *o.lora);
    twin_->train();
    answers_ = std::make_unique<Answers>(*twin_);
    stepper_ = std::make_unique<Stepper>(
        *twin_, *answers_,
        StepOptions{
            .optimizer = o.optimizer, .weight_decay = o.weight_decay, .clip = o.clip, .state = o.state, .compute = o.compute});
    const data::Value batch = blank_batch(o.batch, o.context, o.packing);
    window_ = train::Window(size_t(o.accumulate), {1.0, batch});
    stepper_->step(window_);  // the next one holds the optimizer's states from its beginning
  }
  planning::Recording record() { return stepper_->record(window_); }
  MemoryUse step(std::shared_ptr<const planning::Choice> again) {
    stepper_->use(std::move(again));
    reset_peak_memory_stats(meta);
    stepper_->step(window_);
    const MemoryStats now = memory_stats(meta);
    const auto peak = [&](Category c) { return now.peak[size_t(c)] - before_.live[size_t(c)]; };
    return {peak(Category::parameter) + reading_, peak(Category::gradient), peak(Category::optimizer),
            peak(Category::activation), now.total_peak - before_.total + reading_};
  }
};

}  // namespace

MemoryUse predict(models::CausalLM& model, const FinetuneOptions& o) { return fit(model, o).use; }

namespace {
// The fewest calls made again that bring a step into the limit; else that which takes the least.
Fit nearest(models::CausalLM& model, const FinetuneOptions& o) {
  constexpr int kCuts = 10;
  DryRun dry(model, o);
  Fit found{dry.step(nullptr), nullptr};
  if (!o.memory_limit || found.use.peak <= o.memory_limit) return found;
  Fit least = found;
  // From what makes the fewest calls again.
  for (const planning::Cut& cut : planning::cheapest_at_all_prices(dry.record(), kCuts)) {
    if (!cut.choice.any()) continue;
    const auto again = std::make_shared<planning::Choice>(cut.choice);
    found = {dry.step(again), again};
    if (found.use.peak <= o.memory_limit) return found;
    if (found.use.peak < least.use.peak) least = found;
  }
  return least;
}
[[noreturn]] void too_little(const FinetuneOptions& o, int64_t least) {
  fail<OutOfMemoryError>(
      "finetune: {} bytes of memory are too few: the least that a step takes is {} bytes, most of forward made again in "
      "backward; "
      "take fewer rows in a batch, a shorter context or a base in fewer bits",
      o.memory_limit, least);
}
}  // namespace

Fit fit(models::CausalLM& model, const FinetuneOptions& o) {
  if (model.adapter) return {};
  const Fit found = nearest(model, o);
  if (o.memory_limit && found.use.peak > o.memory_limit) too_little(o, found.use.peak);
  return found;
}

Placement place_to_finetune(models::CausalLM& model, const FinetuneOptions& o, int64_t loading) {
  const Fit found = nearest(model, o);
  if (!o.lora && o.memory_limit && found.use.peak > o.memory_limit) too_little(o, found.use.peak);
  return place(model, found.use.peak, o.memory_limit, loading);
}

}  // namespace dyadic::inline v1::tune
