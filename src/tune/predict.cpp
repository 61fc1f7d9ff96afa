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
    const StepOptions options = step_options(o);
    stepper_ = std::make_unique<Stepper>(*twin_, *answers_, options);
    const int64_t pieces = options.shards ? 1 : o.accumulate;
    for (int64_t i = 0; i < pieces; ++i)
      window_.emplace_back(1.0, blank_batch(o.batch * o.accumulate / pieces, o.context, o.packing));
    stepper_->step(window_);  // the next one holds the optimizer's states from its beginning
  }
  planning::Recording record() { return stepper_->record(window_); }
  MemoryUse step(std::shared_ptr<const planning::Choice> again) {
    stepper_->use(std::move(again));
    reset_peak_memory_stats(meta);
    stepper_->step(window_);
    MemoryUse use = peaks_since(before_, meta);
    use.parameters += reading_, use.peak += reading_;
    return use;
  }
};

}  // namespace

MemoryUse peaks_since(const MemoryStats& before, Device device) {
  const MemoryStats now = memory_stats(device);
  const auto peak = [&](Category c) { return now.peak[size_t(c)] - before.live[size_t(c)]; };
  return {peak(Category::parameter), peak(Category::gradient), peak(Category::optimizer), peak(Category::activation),
          now.total_peak - before.total};
}

MemoryUse predict(models::CausalLM& model, const FinetuneOptions& o) { return fit(model, o).use; }

namespace {
// The fewest calls made again that bring a step into the limit; else that which takes the least.
Fit nearest(models::CausalLM& model, const FinetuneOptions& o) {
  constexpr int kCuts = 10;
  DryRun dry(model, o);
  Fit found{dry.step(nullptr), nullptr};
  if (!o.memory_limit || found.use.peak <= o.memory_limit || shards_of(o)) return found;
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
  if (const int64_t shards = shards_of(o))
    fail<OutOfMemoryError>(
        "finetune: {} bytes of memory are too few: a step over {} shards takes {} on this rank; take more shards, spread "
        "parameters, or take a shorter context or a base in fewer bits",
        o.memory_limit, shards, least);
  fail<OutOfMemoryError>(
      "finetune: {} bytes of memory are too few: the least that a step takes is {} bytes, most of forward made again in "
      "backward; "
      "take fewer rows in a batch, a shorter context or a base in fewer bits",
      o.memory_limit, least);
}
}  // namespace

int64_t shards_of(const FinetuneOptions& o) {
  const int64_t ranks = distributed::world().size(), rows = o.batch * o.accumulate;
  const int64_t usual = ranks > 1 || o.wire ? std::min(std::max(distributed::kUsualShards, o.accumulate), rows) : 0;
  const int64_t shards = o.shards ? o.shards : usual;
  DY_CHECK_AS(ValueError, shards <= rows,
              "finetune: a step of {} rows is cut into {} shards; take fewer, or more rows (batch, accumulate)", rows, shards);
  DY_CHECK_AS(ValueError, shards == 0 || shards >= ranks,
              "finetune: {} ranks share {} shards of a step's {} rows; start at most as many, or take more rows (batch, "
              "accumulate)",
              ranks, shards, rows);
  return shards;
}

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
