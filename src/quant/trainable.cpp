#include "quant/trainable.h"

#include <set>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "nn/stored.h"
#include "quant/methods.h"
#include "quant/targets.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

void check(const QuantizeOptions& o, const std::vector<Target>& targets) {
  DY_CHECK_AS(ValueError, o.method == "rtn" && !o.journal && o.threshold == 0,
              "quantize: trainable weights are rounded to nearest in each forward: leave out method, journal and threshold");
  for (const Target& t : targets) {
    DY_CHECK_AS(ValueError, !t.weight.dtype().is_scaled(), "quantize: {} is {} already, which takes no gradient; leave it out",
                t.name, t.weight.dtype().name());
    const auto codes = o.learned_scales ? integer_codes(t.format) : std::optional(IntegerCodes{});
    DY_CHECK_AS(ValueError, codes && !codes->zero,
                "quantize: learned scales are for integers without zero points, such as i4(row): {} is to be {}", t.name,
                t.format.name());
  }
}

}  // namespace

Report begin_training(nn::Module& model, const QuantizeOptions& o, bool hooks) {
  Report report{.bytes_before = model.nbytes(), .bytes_after = predicted_bytes(model, o)};  // which checks the options first
  const std::vector<Target> targets = find_targets(model, o);
  check(o, targets);
  if (o.rotate) rotate(model);
  const nn::NamedItems<nn::Module*> modules = model.named_modules();
  for (auto& [path, m] : modules)
    DY_CHECK_AS(ValueError, !quantizer_of(*m), "quantize: {} is trainable already; freeze() it first", path);
  for (const Target& t : targets) {
    const Tensor* scale = nullptr;  // that of the first layer that has the tensor
    for (auto& [path, m] : modules)
      for (auto& [name, slot] : m->own_parameters()) {
        if (!slot->defined() || !slot->is_same(t.weight)) continue;
        Quantizer* q = quantizer_of(*m);
        if (!q) {
          auto made = std::make_shared<Quantizer>(o.activations, o.learned_scales);
          made->set_training(m->training());
          q = made.get();
          if (hooks) q->watch(*m);
          m->add(kQuantizer, std::shared_ptr<nn::Module>(std::move(made)));
        }
        q->add_weight(name, t.weight, t.format, nn::rows_are_filters(*m), scale);
        if (scale) continue;
        scale = q->scale_of(name);
        const NoGrad guard;
        LayerReport layer{.name = t.name, .format = t.format};
        layer.error = output_error(t.weight, q->parts().back()->seen(t.weight), nullptr);
        layer.error_rtn = output_error(t.weight, nn::in_format(t.weight.detach(), t.format, nn::rows_are_filters(*m)), nullptr);
        report.layers.push_back(std::move(layer));
      }
  }
  return report;
}

std::vector<RangeReport> calibrate(nn::Module& model, Calibration& data, const CalibrateOptions& o) {
  check_options(o);
  std::vector<std::pair<std::string, Quantizer*>> found;
  for (auto& [path, m] : model.named_modules())
    if (Quantizer* q = quantizer_of(*m); q && q->can_be_static()) found.emplace_back(path, q);
  DY_CHECK_AS(
      ValueError, !found.empty(),
      "calibrate: no layer here takes a scale for its inputs: quantize(..., activations=\"i8(tensor)\", trainable=True) first");
  for (auto& [path, q] : found) q->begin_observing(o);
  const Evaluating evaluating(model);
  try {
    data.run(model);
  } catch (...) {
    for (auto& [path, q] : found) q->end_observing();
    throw;
  }
  std::vector<RangeReport> reports;
  for (auto& [path, q] : found) {
    const std::unique_ptr<Observed> seen = q->end_observing();
    RangeReport& r = reports.emplace_back(RangeReport{.name = path, .format = q->activations(), .batches = seen->batches});
    if (seen->batches == 0) continue;  // an embedding, or what no data reached: each input has its own scale
    const auto [low, high] = range_of(*seen, *integer_codes(q->activations()), o);
    q->set_range(low, high, r);
  }
  return reports;
}

Report freeze(nn::Module& model) {
  const NoGrad guard;
  Report report{.bytes_before = model.nbytes()};
  std::set<const TensorImpl*> stored;
  struct Layer {
    std::string path;
    nn::Module* module;
    Quantizer* quantizer;
  };
  std::vector<Layer> layers;  // found before any is changed: quantizers are modules, too, and go
  for (auto& [path, m] : model.named_modules())
    if (Quantizer* q = quantizer_of(*m)) layers.push_back({path, m, q});
  for (auto& [path, m, q] : layers) {
    for (auto& part : q->parts())
      for (auto& [name, slot] : m->own_parameters()) {
        if (name != part->name || !stored.insert(slot->impl()).second) continue;
        const Tensor value = part->stored(*slot);
        LayerReport layer{.name = path.empty() ? name : path + "." + name, .format = part->format};
        layer.error = output_error(*slot, value, nullptr);
        layer.error_rtn = output_error(*slot, nn::in_format(slot->detach(), part->format, part->filters), nullptr);
        CategoryScope scope(Category::parameter);
        nn::store(*slot, value);
        report.layers.push_back(std::move(layer));
      }
    q->freeze();
    if (q->activations()) continue;
    q->unwatch(*m);
    m->remove(kQuantizer);
  }
  DY_CHECK_AS(ValueError, !layers.empty(),
              "freeze: no layer here is trainable in a format: quantize(..., trainable=True) first");
  report.bytes_after = model.nbytes();
  return report;
}

}  // namespace dyadic::inline v1::quant
