// A model's weights, one after the other: the inputs that a method needs are caught a stage at a time, so that each layer is
// fitted to what the layers before it, quantized already, give.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "dyadic/autograd.h"
#include "nn/stored.h"
#include "quant/catching.h"
#include "quant/methods.h"
#include "quant/targets.h"
#include "quant/trainable.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

class Run {
  nn::Module& model_;
  const QuantizeOptions& o_;
  const Method& method_;
  const Options options_;
  std::vector<Target> targets_;
  std::vector<Call> calls_;
  std::vector<std::string> changed_;  // modules that took scales in this stage
  size_t done_ = 0;
  Report report_;

 public:
  Run(nn::Module& model, const QuantizeOptions& o)
      : model_(model), o_(o), method_(method(o.method)), options_(complete(method_, o.options)) {
    if (o.weights || o.map.empty()) check_format(o.weights, method_.refuses(o.weights));
    for (auto& [pattern, format] : o.map)
      if (format) check_format(format, refuses_unencodable(format));
    DY_CHECK_AS(ValueError, o.calibration || !method_.needs_inputs,
                "quantize: {} needs calibration data: give some, or use rtn, hqq or another that needs none", o.method);
    DY_CHECK_AS(ValueError, !o.importance || (o.method == "imatrix" && !o.calibration),
                "quantize: an importance matrix is for imatrix, in the place of calibration data: method is {}", o.method);
    if (o.activations) round_inputs(ones({1, 1}), o.activations, o.threshold);  // says what is wrong with them, before any work
    targets_ = find_targets(model, o);
    for (const Target& t : targets_)
      DY_CHECK_AS(ValueError, !t.weight.is_meta() && all(isfinite(t.weight.detach().to(f32))).item<bool>(),
                  "quantize: {} has no finite values: it is {}", t.name, describe(t.weight));
  }

  int64_t predicted_bytes() const {
    int64_t bytes = model_.nbytes();
    for (const Target& t : targets_) bytes += bytes_in(t.weight, t.format, t.filters) - t.weight.nbytes();
    return bytes;
  }

  Report run() {
    const NoGrad guard;
    const Evaluating evaluating(model_);
    report_.bytes_before = model_.nbytes();
    if (o_.calibration) in_order_of_calls();
    for (size_t begin = 0; begin < targets_.size();) {
      size_t end = begin + 1;
      while (end < targets_.size() && targets_[end].stage == targets_[begin].stage) ++end;
      const std::span<Target> stage(targets_.begin() + int64_t(begin), targets_.begin() + int64_t(end));
      if (!restored(stage)) {
        run_stage(stage);
        keep(stage);
      }
      begin = end;
    }
    if (o_.activations)
      for (const Target& t : targets_)
        if (t.linear) round_inputs_of(*t.linear, o_.activations, o_.threshold);
    report_.bytes_after = model_.nbytes();
    return std::move(report_);
  }

 private:
  void check_format(DType format, const std::string& refusal) const {
    DY_CHECK_AS(TypeError, format.is_scaled(),
                "quantize: weights is {}: a scaled format is needed, such as i4(group=128); to() converts to the others",
                format.name());
    DY_CHECK_AS(ValueError, refusal.empty(), "quantize: {} does not serve {}: {}", o_.method, format.name(), refusal);
  }
  bool restored(std::span<Target> stage) {
    if (!o_.journal) return false;
    nn::NamedTensors parameters;
    std::vector<LayerReport> layers;
    if (!o_.journal->read(stage[0].name, parameters, layers)) return false;
    const nn::NamedItems<Tensor> own = model_.named_parameters();
    for (auto& [name, value] : parameters) {
      const Tensor* t = own.find(name);
      DY_CHECK_AS(ValueError, t && t->sizes() == value.sizes(), "quantize: what was kept of {} is not this model's: {} is {}",
                  stage[0].name, name, describe(value));
      nn::store(*t, value);
    }
    report_.layers.insert(report_.layers.end(), layers.begin(), layers.end());
    done_ += stage.size();
    return true;
  }
  // What a stage has changed: its weights, and the modules that took scales.
  void keep(std::span<Target> stage) {
    if (o_.journal) {
      nn::NamedTensors parameters;
      for (const Target& t : stage) parameters.emplace_back(t.name, t.weight.detach());
      for (auto& [name, t] : model_.named_parameters())
        for (const std::string& module : changed_)
          if (name.starts_with(module + ".") && !t.dtype().is_scaled()) parameters.emplace_back(name, t.detach());
      o_.journal->write(stage[0].name, parameters, {report_.layers.end() - int64_t(stage.size()), report_.layers.end()});
    }
    changed_.clear();
  }
  void in_order_of_calls() {
    calls_ = trace(model_, *o_.calibration);
    const auto place = [&](const Target& t) {
      const auto it = std::find_if(calls_.begin(), calls_.end(), [&](auto& c) { return c.module == t.linear; });
      return it - calls_.begin();
    };
    std::map<std::string, int64_t> first;  // of a stage
    for (const Target& t : targets_) {
      const auto [it, is_new] = first.try_emplace(t.stage, place(t));
      it->second = std::min<int64_t>(it->second, place(t));
    }
    std::stable_sort(targets_.begin(), targets_.end(),
                     [&](auto& a, auto& b) { return std::pair(first[a.stage], a.stage) < std::pair(first[b.stage], b.stage); });
  }

  void run_stage(std::span<Target> stage) {
    std::map<const Target*, Inputs> inputs;
    if (o_.calibration) {
      std::vector<std::unique_ptr<Watching>> watching;
      for (Target& t : stage)
        if (t.why_no_inputs.empty())
          watching.push_back(std::make_unique<Watching>(*o_.calibration, *t.linear,
                                                        std::make_shared<Catcher>("quantize", inputs[&t], t.name)));
      if (!watching.empty()) o_.calibration->run(model_);
    }
    if (o_.importance)
      for (Target& t : stage)
        if (const auto known = o_.importance->entries.find(t.name); known != o_.importance->entries.end())
          inputs[&t] = Inputs::of_squares(known->second.squares, int64_t(known->second.rows));
    std::map<const Target*, LayerReport> reports;
    if (method_.input_scale) scale_inputs(stage, inputs, reports);
    for (Target& t : stage) quantize_one(t, inputs[&t], reports[&t]);
  }

  // Weights that multiply the same tensor share their scales.
  void scale_inputs(std::span<Target> stage, std::map<const Target*, Inputs>& inputs,
                    std::map<const Target*, LayerReport>& reports) {
    std::map<std::pair<size_t, const Format*>, std::vector<Target*>> groups;
    for (Target& t : stage) {
      const auto call = std::find_if(calls_.begin(), calls_.end(), [&](auto& c) { return c.module == t.linear; });
      if (t.why_no_inputs.empty() && call != calls_.end() && inputs[&t].rows() > 0)
        groups[{call->input, t.format.format()}].push_back(&t);
    }
    // What the model gives now, its earlier stages quantized: folding does not change it.
    const Tensor expected = groups.empty() ? Tensor() : o_.calibration->sample(model_);
    for (auto& [shared_input, group] : groups) {
      const double begin = seconds_now();
      std::vector<Tensor> weights;
      for (const Target* t : group) weights.push_back(t->weight.detach().to(f32));
      const Inputs& shared = inputs[group[0]];
      const Tensor scale = method_.input_scale({group[0]->name, cat(weights, 0), &shared, group[0]->format, options_});
      for (size_t i = 0; i < group.size(); ++i)
        reports[group[i]].error_rtn = output_error(weights[i], to_nearest(weights[i], group[i]->format), &shared);
      const std::string taken = fold(model_, *o_.calibration, calls_, expected, group, scale);
      if (!taken.empty()) changed_.push_back(taken);
      for (const Target* t : group) {
        reports[t].note =
            taken.empty() ? "its inputs are not scaled: nothing before it takes the scales" : "scales are in " + taken;
        if (!taken.empty()) inputs[t] = inputs[t].divided_by(scale);
        reports[t].seconds = (seconds_now() - begin) / double(group.size());
      }
    }
  }

  void quantize_one(Target& t, const Inputs& caught, LayerReport report) {
    if (o_.progress) o_.progress(o_.context, done_, targets_.size(), t.name);
    ++done_;
    const double begin = seconds_now();
    Tensor w = t.weight.detach().to(f32).contiguous();
    if (t.filters) w = w.view({w.size(0), -1});
    const Inputs* inputs = caught.rows() > 0 ? &caught : nullptr;
    Result r;
    // Of a format that map gives: another method would serve it.
    if (const std::string refusal = method_.refuses(t.format); !refusal.empty())
      r = {to_nearest(w, t.format), fmt::format("{} does not serve {}: {}", o_.method, t.format.name(), refusal)};
    else if (!t.why_no_inputs.empty() && method_.needs_inputs)
      r = {to_nearest(w, t.format), t.why_no_inputs};
    else if (w.dim() != 2)
      r = {to_nearest(w, t.format), o_.method == "rtn" ? "" : fmt::format("it is no matrix: {}", describe(w))};
    else if (!inputs && method_.needs_inputs)
      r = {to_nearest(w, t.format), "no row of the calibration data reached it"};
    else
      r = method_.run({t.name, w, inputs, t.format, options_});
    report.name = t.name, report.format = t.format, report.fallback = r.fallback;
    report.error = output_error(w, r.weight, inputs);
    if (report.error_rtn == 0) report.error_rtn = output_error(w, to_nearest(w, t.format), inputs);
    nn::store(t.weight, r.weight.view(t.weight.sizes()));
    report.seconds += seconds_now() - begin;
    report_.layers.push_back(std::move(report));
  }
};

}  // namespace

Report quantize(nn::Module& model, const QuantizeOptions& options) {
  if (options.trainable) return begin_training(model, options, true);
  Run run(model, options);  // which complains before anything is changed
  if (options.rotate) rotate(model);
  return run.run();
}
int64_t predicted_bytes(nn::Module& model, const QuantizeOptions& options) { return Run(model, options).predicted_bytes(); }

}  // namespace dyadic::inline v1::quant
