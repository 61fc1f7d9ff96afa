#include "models/experts.h"

#include "dyadic/numbers.h"

namespace dyadic::inline v1::models {
namespace {

void check(const Routing& r) {
  DY_CHECK_AS(ValueError, r.chosen >= 1 && r.chosen <= r.experts, "config.json: num_experts_per_tok is {}, of {} experts",
              r.chosen, r.experts);
}

// An expert's matrix, for products with x: narrow floats are decoded, scaled formats by the product itself.
Tensor matrix_of(const Tensor& all, int64_t e, const Tensor& x) {
  const Tensor m = select(all, 0, e);
  return m.dtype().is_scaled() ? m : m.to(x.dtype());
}

}  // namespace

Experts::Experts(int64_t width, int64_t hidden, int64_t shared_hidden, const std::string& activation, const Routing& routing,
                 nn::Options options, const MlpNames& names)
    : routing_(routing), gate_(width, routing.experts, false, options) {
  check(routing);
  add("gate", gate_), add("experts", experts_);
  for (int64_t e = 0; e < routing.experts; ++e)
    experts_.append(std::make_shared<GatedMlp>(width, hidden, activation, false, options, names));
  if (shared_hidden == 0) return;
  shared_ = std::make_unique<GatedMlp>(width, shared_hidden, activation, false, options);
  shared_gate_ = std::make_unique<nn::Linear>(width, 1, false, options);
  add("shared_expert", *shared_), add("shared_expert_gate", *shared_gate_);
}

Tensor Experts::forward(const Tensor& input) {
  const Tensor x = input.reshape({-1, input.size(-1)}), logits = gate_(x);
  auto [shares, chosen] = topk(softmax(logits.dtype() == f64 ? logits : logits.to(f32), -1), routing_.chosen);
  if (routing_.normed) shares = shares / sum(shares, {-1}, true);
  Tensor y = mix(x, chosen, shares, routing_.experts, [&](const Tensor& rows, int64_t e) { return experts_[size_t(e)](rows); });
  if (shared_) y = y + sigmoid((*shared_gate_)(x)) * (*shared_)(x);
  return y.view(input.sizes());
}

InterleavedExperts::InterleavedExperts(int64_t width, int64_t hidden, const Routing& routing, double limit, double slope,
                                       nn::Options options)
    : routing_(routing), limit_(limit), slope_(slope), router_(width, routing.experts, true, options) {
  check(routing);
  const int64_t n = routing.experts;
  experts_.add_parameter("gate_up_proj", experts_.gate_up = nn::make_parameter({n, width, 2 * hidden}, options));
  experts_.add_parameter("gate_up_proj_bias", experts_.gate_up_bias = nn::make_parameter({n, 2 * hidden}, options));
  experts_.add_parameter("down_proj", experts_.down = nn::make_parameter({n, hidden, width}, options));
  experts_.add_parameter("down_proj_bias", experts_.down_bias = nn::make_parameter({n, width}, options));
  add("router", router_), add("experts", experts_);
}

Tensor InterleavedExperts::expert(const Tensor& x, int64_t e) {
  const Tensor both =
      (matmul(x, matrix_of(experts_.gate_up, e, x)) + select(experts_.gate_up_bias, 0, e)).view({x.size(0), -1, 2});
  const Tensor gate = clamp_max(select(both, -1, 0), limit_), up = clamp(select(both, -1, 1), -limit_, limit_);
  const Tensor inner = (up + 1) * (gate * sigmoid(gate * slope_));
  return matmul(inner, matrix_of(experts_.down, e, inner)) + select(experts_.down_bias, 0, e);
}

Tensor InterleavedExperts::forward(const Tensor& input) {
  const Tensor x = input.reshape({-1, input.size(-1)});
  auto [values, chosen] = topk(router_(x), routing_.chosen);
  const Tensor y =
      mix(x, chosen, softmax(values, -1), routing_.experts, [&](const Tensor& rows, int64_t e) { return expert(rows, e); });
  return y.view(input.sizes());
}

}  // namespace dyadic::inline v1::models
