// Qwen3.5: to one layer of attention, whose heads have gates, three that keep a state of one size instead of keys and values,
// by the gated delta rule (Yang, Kautz and Hatamizadeh 2024). With experts as well.
#include <cmath>

#include "dyadic/linalg.h"
#include "dyadic/ops_nn.h"
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

// Each channel's last few values, weighted.
class ShortConvolution : public nn::Module {
 public:
  ShortConvolution(int64_t channels, int64_t reach, nn::Options options)
      : weight_(nn::make_parameter({channels, 1, reach}, options)) {
    add_parameter("weight", weight_);
  }
  const char* kind() const override { return "ShortConvolution"; }
  bool is_matrix(std::string_view) const override { return false; }
  // x [B, T, channels] after `recent`, the values before them, which then are the last of these. Undefined: there are none.
  Tensor run(const Tensor& x, Tensor* recent) {
    const nn::ModuleScope scope(*this);
    const int64_t reach = weight_.size(2), T = x.size(1);
    const bool begins = !recent || !recent->defined();
    const Tensor all =
        cat(std::vector{begins ? zeros({x.size(0), reach - 1, x.size(2)}, x.dtype(), x.device()) : *recent, x}, 1);
    if (recent) *recent = narrow(all, 1, T, reach - 1).detach().clone();
    Tensor y = narrow(all, 1, 0, T) * select(select(weight_, 1, 0), 1, 0);
    for (int64_t i = 1; i < reach; ++i) y = y + narrow(all, 1, i, T) * select(select(weight_, 1, 0), 1, i);
    return y;
  }

 private:
  Tensor weight_;
};

// A memory of values by keys [B, H, K, V] that fades by exp(fade) before each token, then turns by `rate` from what it holds
// under the token's key to the token's value, and is asked for each query: q, k [B, H, T, K], v [B, H, T, V], fade and rate
// [B, H, T]. 64 tokens at a time: what each writes depends on the writes of those before it, a triangle of equations.
Tensor delta_rule(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& fades, const Tensor& rates,
                  Tensor& memory) {
  constexpr int64_t kStep = 64;
  std::vector<Tensor> results;
  for (int64_t at = 0, T = keys.size(2); at < T; at += kStep) {
    const int64_t n = std::min(kStep, T - at);
    const auto part = [&](const Tensor& t) { return narrow(t, 2, at, n); };
    const Tensor q = part(queries), k = part(keys), rate = unsqueeze(part(rates), -1), faded = cumsum(part(fades), 2);
    const Tensor since = unsqueeze(exp(faded), -1), later = logical_not(tril(ones({n, n}, boolean, k.device())));
    const Tensor between = exp(masked_fill(unsqueeze(faded, -1) - unsqueeze(faded, -2), later, -INFINITY));
    Tensor written = part(values) * rate - matmul(k * rate * since, memory);
    if (n > 1) {
      const Tensor before = matmul(k * rate, k.transpose(2, 3)) * between;  // its diagonal is taken for ones
      written = linalg::solve_triangular(before, written, false, true, true);
    }
    results.push_back(matmul(q * since, memory) + matmul(matmul(q, k.transpose(2, 3)) * between, written));
    const Tensor whole = narrow(faded, 2, n - 1, 1);
    memory = memory * unsqueeze(exp(whole), -1) + matmul((k * unsqueeze(exp(whole - faded), -1)).transpose(2, 3), written);
  }
  return results.size() == 1 ? results[0] : cat(results, 2);
}

Tensor unit(const Tensor& x) { return x * rsqrt(sum(x * x, {-1}, true) + 1e-6); }

struct DeltaShape {
  int64_t width, key_heads, key_dim, value_heads, value_dim, reach;
  double eps;
  std::string activation;
  int64_t keys() const { return key_heads * key_dim; }
  int64_t values() const { return value_heads * value_dim; }
};

class GatedDeltaNet : public Mixer {
 public:
  GatedDeltaNet(const DeltaShape& s, nn::Options o)
      : shape_(s),
        qkv_(s.width, 2 * s.keys() + s.values(), false, o),
        gate_(s.width, s.values(), false, o),
        rate_(s.width, s.value_heads, false, o),
        fade_(s.width, s.value_heads, false, o),
        out_(s.values(), s.width, false, o),
        convolution_(2 * s.keys() + s.values(), s.reach, o),
        norm_(s.value_dim, s.eps, false, o),
        fade_bias_(nn::make_parameter({s.value_heads}, o)),
        fade_scale_(nn::make_parameter({s.value_heads}, o)) {
    add_parameter("dt_bias", fade_bias_), add_parameter("A_log", fade_scale_);
    add("conv1d", convolution_), add("norm", norm_), add("out_proj", out_);
    add("in_proj_qkv", qkv_), add("in_proj_z", gate_), add("in_proj_b", rate_), add("in_proj_a", fade_);
  }
  const char* kind() const override { return "GatedDeltaNet"; }

  Tensor run(const Tensor& input, Pass& pass, size_t layer) override {
    const nn::ModuleScope scope(*this);
    const DeltaShape& s = shape_;
    const Tensor x = pass.without_padding(input);
    const DType dtype = x.dtype(), wide = dtype == f64 ? f64 : f32;
    Cache::Recurrent* state = pass.cache ? &pass.cache->recurrent(layer, x.size(0)) : nullptr;
    const Tensor all = activate(s.activation, convolution_.run(qkv_(x), state ? &state->recent : nullptr)).to(wide);
    const auto directions = [&](int64_t first) {  // each serves several values in a row
      return repeat_heads(unit(split_heads(narrow(all, -1, first, s.keys()), s.key_heads)), s.value_heads / s.key_heads);
    };
    const Tensor q = directions(0) / std::sqrt(double(s.key_dim)), k = directions(s.keys());
    const Tensor v = split_heads(narrow(all, -1, 2 * s.keys(), s.values()), s.value_heads);
    const Tensor rate = sigmoid(rate_(x)).to(wide).transpose(1, 2);
    const Tensor fade = -exp(fade_scale_.to(wide)) * softplus(fade_(x).to(wide) + fade_bias_.to(wide));
    Tensor memory = state && state->memory.defined()
                        ? state->memory
                        : zeros({x.size(0), s.value_heads, s.key_dim, s.value_dim}, wide, x.device());
    const Tensor y = delta_rule(q, k, v, fade.transpose(1, 2), rate, memory).transpose(1, 2).to(dtype);  // [B, T, H, V]
    if (state) state->memory = memory.detach();
    const Tensor gate = gate_(x).view(y.sizes());
    return out_((norm_(y) * silu(gate)).reshape({x.size(0), x.size(1), s.values()}));
  }

 private:
  DeltaShape shape_;
  nn::Linear qkv_, gate_, rate_, fade_, out_;
  ShortConvolution convolution_;
  RmsNorm norm_;
  Tensor fade_bias_, fade_scale_;
};

Plan qwen3_5_plan(const Config& given) {
  Config c = given;
  c.usually("partial_rotary_factor", 0.25);
  Plan p = common_plan(c, 256);
  p.norm_from_one = p.attention.norm_from_one = p.attention.gated = true;
  p.attention.norm = QueryNorm::head;
  DeltaShape s{.width = p.attention.width,
               .key_heads = c.size("linear_num_key_heads", 16),
               .key_dim = c.size("linear_key_head_dim", 128),
               .value_heads = c.size("linear_num_value_heads", 32),
               .value_dim = c.size("linear_value_head_dim", 128),
               .reach = c.size("linear_conv_kernel_dim", 4),
               .eps = p.eps,
               .activation = p.activation};
  DY_CHECK_AS(ValueError, s.value_heads % s.key_heads == 0,
              "config.json: linear_num_value_heads {} is no multiple of linear_num_key_heads {}", s.value_heads, s.key_heads);
  const std::vector<std::string> types = c.layer_types(p.layers, "linear_attention");
  const int64_t every = c.size("full_attention_interval", 4);
  p.mixer_name = "linear_attn";
  p.mixer = [=](int64_t layer, nn::Options o) {
    const bool attends = types.empty() ? (layer + 1) % every == 0 : types[size_t(layer)] == "full_attention";
    return attends ? nullptr : std::make_shared<GatedDeltaNet>(s, o);
  };
  return p;
}

Plan qwen3_5_moe_plan(const Config& given) {
  Config c = given;
  c.usually("intermediate_size", c.size("moe_intermediate_size", 512));  // no layer is without experts
  Plan p = qwen3_5_plan(c);
  const Routing routing{c.size("num_experts", 256), c.size("num_experts_per_tok", 8), true};
  c.check_modules(p.layers, routing.experts, "experts");
  const int64_t hidden = c.size("moe_intermediate_size", 512), shared = c.size("shared_expert_intermediate_size", 512);
  p.feed = [=, width = p.attention.width, act = p.activation](int64_t, nn::Options o) {
    return std::make_shared<Experts>(width, hidden, shared, act, routing, o);
  };
  return p;
}

}  // namespace

extern const Family qwen3_5{"qwen3_5", make_with<qwen3_5_plan>};
extern const Family qwen3_5_text{"qwen3_5_text", make_with<qwen3_5_plan>};
extern const Family qwen3_5_moe{"qwen3_5_moe", make_with<qwen3_5_moe_plan>};
extern const Family qwen3_5_moe_text{"qwen3_5_moe_text", make_with<qwen3_5_moe_plan>};

}  // namespace dyadic::inline v1::models
