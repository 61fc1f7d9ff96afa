// What a step will take: the same step on a model without memory.
#include "base/check.h"
#include "dyadic/device.h"
#include "tune/answers.h"

namespace dyadic::inline v1::tune {
namespace {

// The same parameters in the same formats, of nothing.
std::shared_ptr<models::CausalLM> twin_of(models::CausalLM& model) {
  auto twin = models::make(model.config, {f32, meta});
  for (auto& [name, p] : model.named_parameters()) {
    const CategoryScope scope(Category::parameter);
    Tensor t = empty(p.sizes(), p.dtype(), meta);
    if (p.requires_grad()) t.requires_grad_();
    twin->set_parameter(name, t);
  }
  return twin;
}

}  // namespace

MemoryUse predict(models::CausalLM& model, const FinetuneOptions& o) {
  if (model.adapter) return {};
  Generator noise;
  const GeneratorScope scope(noise);
  const MemoryStats before = memory_stats(meta);
  const auto twin = twin_of(model);
  if (o.lora) models::add_adapter(*twin, *o.lora);
  twin->train();
  Answers answers(*twin);
  Stepper stepper(
      *twin, answers,
      {.optimizer = o.optimizer, .weight_decay = o.weight_decay, .clip = o.clip, .state = o.state, .compute = o.compute});
  reset_peak_memory_stats(meta);
  const train::Window window(size_t(o.accumulate), {1.0, blank_batch(o.batch, o.context, o.packing)});
  stepper.step(window);
  stepper.step(window);  // this one holds the optimizer's states from its beginning
  const MemoryStats now = memory_stats(meta);
  const auto peak = [&](Category c) { return now.peak[size_t(c)] - before.live[size_t(c)]; };
  return {peak(Category::parameter), peak(Category::gradient), peak(Category::optimizer), peak(Category::activation),
          now.total_peak - before.total};
}

}  // namespace dyadic::inline v1::tune
