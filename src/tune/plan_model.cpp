// What a model takes: the same work on a model without memory.
#include "dyadic/model_plan.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/device.h"
#include "dyadic/ops.h"
#include "formats/format.h"

namespace dyadic::inline v1::tune {
namespace {

constexpr int64_t kUsualContext = 2048, kPiece = 512;  // a prompt is read in pieces of so many tokens (GenerateOptions)

std::shared_ptr<models::CausalLM> twin_in(const std::string& config, DType format) {
  const CategoryScope scope(Category::parameter);
  auto m = models::make(config, {format.is_blocked() ? f32 : format, meta});
  if (format.is_blocked()) m->to(format);
  m->requires_grad_(false);
  return m;
}

int64_t context_of(const ModelPlanOptions& o, const models::CausalLM& m) {
  const int64_t most = m.most_tokens(), context = o.context ? o.context : kUsualContext;
  return most ? std::min(most, context) : context;
}

// before: bytes on meta when there was no model yet.
ModelUse generating(models::CausalLM& m, DType format, const ModelPlanOptions& o, int64_t context, int64_t before) {
  const NoGrad guard;
  ModelUse use{"generate", format};
  use.weights = m.nbytes();
  reset_peak_memory_stats(meta);
  models::Cache cache(context, o.kv);
  cache.expect(context);
  const Tensor ids = empty({o.batch, context}, i64, meta);
  int64_t at = 0;
  for (; at + kPiece < context; at += kPiece) m.read(narrow(ids, 1, at, kPiece), cache);
  m.read(narrow(ids, 1, at, context - at), cache);
  use.cache = cache.nbytes();
  use.peak = memory_stats(meta).total_peak - before;
  return use;
}

FinetuneOptions finetuning(const ModelPlanOptions& o, int64_t context, int64_t limit = 0) {
  return {.lora = o.lora, .context = context, .packing = false, .batch = o.batch, .memory_limit = limit};
}
ModelUse training(models::CausalLM& m, DType format, const ModelPlanOptions& o, int64_t context) {
  if (!o.lora) m.requires_grad_(true);
  const MemoryUse took = predict(m, finetuning(o, context));
  ModelUse use{"finetune", format};
  use.weights = took.parameters;
  use.training = took.gradients + took.optimizer + took.activations;
  use.peak = took.peak;
  return use;
}

std::vector<DType> usual_formats(const models::CausalLM& m) {
  std::vector<DType> all{bf16};
  for (DType d : {i8_row, q8_0, q6_K, q5_K, nf4, q4_K, q3_K, q2_K})
    if (!nn::quantizable(m, d).empty()) all.push_back(d);
  return all;
}

}  // namespace

std::vector<ModelUse> plan_model(const std::string& config, const ModelPlanOptions& o, int64_t limit) {
  DY_CHECK_AS(ValueError, o.context >= 0 && o.batch >= 1,
              "plan: context is {}, batch {}: there is one text and one token at least", o.context, o.batch);
  const auto shape = models::make(config, {f32, meta});
  const int64_t most = shape->most_tokens();
  DY_CHECK_AS(ValueError, most == 0 || o.context <= most, "plan: context is {}, and the model reads {} tokens", o.context,
              most);
  const int64_t context = context_of(o, *shape);
  const std::vector<DType> formats = o.formats.empty() ? usual_formats(*shape) : o.formats;
  for (DType d : formats) {
    check_encodes(*d.format());
    DY_CHECK_AS(ValueError, !d.is_scaled() || !nn::quantizable(*shape, d).empty(), "plan: no weight of the model gains from {}",
                d.name());
  }
  std::vector<ModelUse> all;
  // What does not fit as it is may with calls made again, or weights on disk.
  const auto judge = [&](ModelUse use, auto placed) {
    use.fits = limit == 0 || use.peak <= limit;
    if (!use.fits) try {
        const Placement p = placed();
        use.on_disk = p.on_disk, use.again = !p.on_disk;
      } catch (const OutOfMemoryError&) {}  // there is no way
    all.push_back(std::move(use));
  };
  for (DType d : formats) {
    const int64_t before = memory_stats(meta).total;
    const auto m = twin_in(config, d);
    const ModelUse use = generating(*m, d, o, context, before);
    judge(use, [&] { return place(*m, use.peak, limit); });
  }
  for (DType d : formats) {
    if (!o.lora && d.is_blocked()) continue;
    const auto m = twin_in(config, d);
    judge(training(*m, d, o, context), [&] { return place_to_finetune(*m, finetuning(o, context, limit)); });
  }
  return all;
}

ModelUse plan_generation(models::CausalLM& model, const ModelPlanOptions& o) {
  return generating(model, {}, o, context_of(o, model), memory_stats(meta).total - model.nbytes());
}

}  // namespace dyadic::inline v1::tune
