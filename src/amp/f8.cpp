// Formats and recipe: Micikevicius et al. 2022, "FP8 formats for deep learning"; delayed scaling as Transformer Engine does it.
#include "amp/f8.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "corridor/counters.h"
#include "dyadic/autograd.h"
#include "dyadic/finfo.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

double scale_of(double amax, DType format, int margin) {
  return amax > 0 ? std::exp2(std::floor(std::log2(finfo(format).max / amax)) - margin) : 1;
}

struct Codes {
  Tensor values;  // t * scale, rounded
  double scale = 1;
};

// Rounds `t` by the scale its history asks for; `learn` notes how large it is.
Codes quantize(const Tensor& t, AmaxHistory& history, DType format, const DelayedScaling::Options& options, bool learn) {
  double amax = 0;
  const bool unknown = history.scale == 0;
  if ((learn || unknown) && !t.is_meta() && t.numel() > 0) amax = dyadic::amax(abs(t)).item();
  if (learn && std::isfinite(amax)) history.now = std::max(history.now, amax);
  double scale = history.scale;
  if (unknown) scale = std::isfinite(amax) ? scale_of(amax, format, options.margin) : 1;
  // Infinities stay visible to whoever looks for them.
  const char* overflow = std::isfinite(amax) ? "saturate" : "special";
  return {cast(mul(t, scale), format, "nearest", overflow), scale};
}

void roll(AmaxHistory& h, DType format, const DelayedScaling::Options& options) {
  if (h.now == 0) return;
  h.before.push_front(std::exchange(h.now, 0));
  if (h.before.size() > size_t(options.history)) h.before.resize(size_t(options.history));
  const double amax = options.most_recent ? h.before.front() : *std::max_element(h.before.begin(), h.before.end());
  h.scale = scale_of(amax, format, options.margin);
}

Tensor rows(const Tensor& t) { return t.reshape({t.size(-1) ? t.numel() / t.size(-1) : 0, t.size(-1)}); }

// Saves the codes of input and weight.
struct F8Context : FunctionContext {
  std::shared_ptr<F8Layer> layer;
  DelayedScaling::Options options;
  double x_scale = 1, w_scale = 1;
  DType x_type, w_type, b_type;
  using FunctionContext::FunctionContext;
};

// Gradients of (x, weight, bias); the bias sums what came, unrounded.
std::vector<Tensor> f8_backward(FunctionContext& context, std::span<const Tensor> g) {
  const auto& c = static_cast<F8Context&>(context);
  DY_CHECK(!GradMode::enabled(), "autocast: a linear layer in {} is differentiable once; leave create_graph away, or use bf16",
           c.options.forward.name());
  const Tensor &x = c.saved_tensors()[0], &w = c.saved_tensors()[1];
  std::vector<Tensor> result(c.b_type ? 3 : 2);
  const auto as_decoded = [](const Tensor& codes, double scale) { return mul(codes.to(f32), 1 / scale); };
  const ScaledUnits units;
  const Codes codes = quantize(g[0], c.layer->gradient, c.options.backward, c.options, true);
  const Tensor low = codes.values.to(bf16);
  if (c.needs_input_grad(0)) result[0] = mul(matmul(low, w.to(bf16)), 1 / (codes.scale * c.w_scale)).to(c.x_type);
  if (c.needs_input_grad(1))
    result[1] = mul(matmul(rows(low).t(), rows(x).to(bf16)).to(c.w_type), 1 / (codes.scale * c.x_scale));
  if (result[0].defined())
    compare_rounding("F8Linear_backward", result[0], [&] { return matmul(g[0].to(f32), as_decoded(w, c.w_scale)); });
  if (result[1].defined())
    compare_rounding("F8Linear_backward", result[1],
                     [&] { return matmul(rows(g[0]).to(f32).t(), as_decoded(rows(x), c.x_scale)); });
  if (c.b_type && c.needs_input_grad(2)) result[2] = sum(rows(g[0]), {0}, false, f32).to(c.b_type);
  return result;
}

}  // namespace

std::shared_ptr<F8Layer> DelayedScaling::State::layer(const TensorImpl* weight) {
  const char* module = module_path(t_module);
  const std::string path = *module ? module : "linear";
  std::lock_guard lock(mutex);
  for (int k = 0;; ++k) {
    std::shared_ptr<F8Layer>& found = layers[k ? path + "." + std::to_string(k) : path];
    if (!found) found = std::make_shared<F8Layer>();
    if (!found->of) found->of = weight;
    if (found->of == weight) return found;
  }
}

void DelayedScaling::State::next_step() {
  std::lock_guard lock(mutex);
  for (auto& [name, l] : layers) {
    roll(l->input, options.forward, options);
    roll(l->weight, options.forward, options);
    roll(l->gradient, options.backward, options);
    l->codes = Tensor();
  }
}

Tensor f8_linear(const DelayedScaling& scaling, const Tensor& x, const Tensor& weight, const Tensor& bias, bool cache) {
  const bool learn = GradMode::enabled();
  std::vector<Tensor> inputs{x, weight};
  if (bias.defined()) inputs.push_back(bias);
  auto context = std::make_shared<F8Context>(inputs);
  Tensor y;
  {
    NoGrad guard;
    const ScaledUnits units;
    const DelayedScaling::Options& o = scaling.options();
    F8Layer& layer = *(context->layer = scaling.state().layer(weight.impl()));
    const Codes in = quantize(x, layer.input, o.forward, o, learn);
    Codes w{layer.codes, layer.weight.scale};
    if (!w.values.defined() || layer.version != weight.version()) {
      w = quantize(weight, layer.weight, o.forward, o, learn);
      layer.weight.scale = w.scale;
      if (cache) layer.codes = w.values, layer.version = weight.version();
    }
    const double both = in.scale * w.scale;
    const Tensor scaled_bias = bias.defined() ? mul(bias, both).to(bf16) : Tensor();
    y = mul(linear(in.values.to(bf16), w.values, scaled_bias), 1 / both);
    compare_rounding("F8Linear", y,
                     [&] { return linear(x.to(f32), weight.to(f32), bias.defined() ? bias.to(f32) : Tensor()); });
    context->save_for_backward({in.values, w.values});
    context->options = o;
    context->x_scale = in.scale, context->w_scale = w.scale;
    context->x_type = x.dtype(), context->w_type = weight.dtype();
    if (bias.defined()) context->b_type = bias.dtype();
  }
  return detail::record_function("F8Linear", inputs, {y}, context, f8_backward)[0];
}

DelayedScaling::DelayedScaling(Options options) : state_(std::make_unique<State>()) {
  DY_CHECK_AS(ValueError, options.history > 0, "DelayedScaling: the history is empty: history is {}", options.history);
  state_->options = options;
}
DelayedScaling::DelayedScaling() : DelayedScaling(Options()) {}
DelayedScaling::~DelayedScaling() = default;
const DelayedScaling::Options& DelayedScaling::options() const { return state_->options; }

namespace {

template <class Layer> auto histories(Layer& l) {
  return std::array{std::pair{".input", &l.input}, std::pair{".weight", &l.weight}, std::pair{".gradient", &l.gradient}};
}

}  // namespace

// What the step that runs has seen so far counts as a step of its own: a state between two steps is the same either way.
std::vector<std::pair<std::string, Tensor>> DelayedScaling::state_dict() const {
  state_->next_step();
  std::vector<std::pair<std::string, Tensor>> out;
  for (auto& [name, layer] : state_->layers)
    for (auto [kind, h] : histories(*layer)) {
      Tensor t = zeros({1 + state_->options.history});
      t.data<float>()[0] = float(h->scale);
      for (size_t i = 0; i < h->before.size(); ++i) t.data<float>()[1 + i] = float(h->before[i]);
      out.emplace_back(name + kind, t);
    }
  return out;
}

void DelayedScaling::load_state_dict(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::map<std::string, std::shared_ptr<F8Layer>, std::less<>> layers;
  for (auto& [name, t] : state) {
    const size_t dot = name.rfind('.');
    DY_CHECK_AS(ValueError, dot != name.npos && t.dim() == 1 && t.dtype() == f32 && t.size(0) > 0,
                "DelayedScaling: not part of a state: {} is {}; names end in .input, .weight or .gradient", name, describe(t));
    std::shared_ptr<F8Layer>& layer = layers[name.substr(0, dot)];
    if (!layer) layer = std::make_shared<F8Layer>();
    const Tensor values = t.to(cpu).contiguous();
    for (auto [kind, h] : histories(*layer)) {
      if (name.substr(dot) != kind) continue;
      h->scale = values.data<float>()[0];
      for (int64_t i = 1; i < values.size(0) && values.data<float>()[i] > 0; ++i) h->before.push_back(values.data<float>()[i]);
      if (h->before.size() > size_t(state_->options.history)) h->before.resize(size_t(state_->options.history));
    }
  }
  std::lock_guard lock(state_->mutex);
  for (auto& [name, layer] : layers) {  // whoever runs keeps its layer
    std::shared_ptr<F8Layer>& here = state_->layers[name];
    if (here) {
      layer->of = here->of;
      *here = *layer;
    } else {
      here = layer;
    }
  }
}

}  // namespace dyadic::inline v1
