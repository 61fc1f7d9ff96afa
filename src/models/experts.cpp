#include "models/experts.h"

#include "dyadic/numbers.h"
#include "dyadic/ops_nn.h"

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

MixedExperts::MixedExperts(int64_t width, const std::string& activation, const Routing& routing, nn::Options options)
    : routing_(routing), activation_(activation), width_(width), gate_(width, routing.experts, false, options) {
  check(routing), check_activation(activation);
}
void MixedExperts::add_shared(int64_t hidden, nn::Options options) {
  if (hidden == 0) return;
  shared_ = std::make_unique<GatedMlp>(width_, hidden, activation_, false, options);
  shared_gate_ = std::make_unique<nn::Linear>(width_, 1, false, options);
  add("shared_expert", *shared_), add("shared_expert_gate", *shared_gate_);
}

std::pair<Tensor, Tensor> MixedExperts::route(const Tensor& x) {
  const Tensor logits = gate_(x);
  auto [shares, chosen] = topk(softmax(logits.dtype() == f64 ? logits : logits.to(f32), -1), routing_.chosen);
  return {routing_.normed ? shares / sum(shares, {-1}, true) : shares, chosen};
}

Tensor MixedExperts::forward(const Tensor& input) {
  const Tensor x = input.reshape({-1, width_});
  const auto [shares, chosen] = route(x);
  Tensor y = mix(x, chosen, shares, routing_.experts, [&](const Tensor& rows, int64_t e) { return expert(rows, e); });
  if (shared_) y = y + sigmoid((*shared_gate_)(x)) * (*shared_)(x);
  return y.view(input.sizes());
}

Experts::Experts(int64_t width, int64_t hidden, int64_t shared_hidden, const std::string& activation, const Routing& routing,
                 nn::Options options, const MlpNames& names)
    : MixedExperts(width, activation, routing, options) {
  add("gate", gate_), add("experts", experts_);
  for (int64_t e = 0; e < routing.experts; ++e)
    experts_.append(std::make_shared<GatedMlp>(width, hidden, activation, false, options, names));
  add_shared(shared_hidden, options);
}

Tensor stacked_expert(const Tensor& rows, const Tensor& gate_up, const Tensor& down, int64_t e, const std::string& activation) {
  const Tensor both = linear(rows, matrix_of(gate_up, e, rows));
  const int64_t hidden = both.size(-1) / 2;
  const Tensor inner = activate(activation, narrow(both, -1, 0, hidden)) * narrow(both, -1, hidden, hidden);
  return linear(inner, matrix_of(down, e, inner));
}

StackedExperts::StackedExperts(int64_t width, int64_t hidden, const std::string& activation, const Routing& routing,
                               nn::Options options)
    : MixedExperts(width, activation, routing, options) {
  input_.add_parameter("weight", input_.weight = nn::make_parameter({routing.experts, 2 * hidden, width}, options));
  output_.add_parameter("weight", output_.weight = nn::make_parameter({routing.experts, width, hidden}, options));
  router_.add("layer", gate_);
  add("input_linear", input_), add("output_linear", output_), add("router", router_);
}
Tensor StackedExperts::expert(const Tensor& rows, int64_t e) {
  return stacked_expert(rows, input_.weight, output_.weight, e, activation_);
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
