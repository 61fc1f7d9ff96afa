#include "models/parts.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/ops_nn.h"
#include "models/rotation.h"

namespace dyadic::inline v1::models {
namespace {

struct Activation {
  const char* name;
  Tensor (*run)(const Tensor&);
};
const Activation kActivations[] = {
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"swish", [](const Tensor& x) { return silu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"gelu_new", [](const Tensor& x) { return gelu_tanh(x); }},
    {"gelu_pytorch_tanh", [](const Tensor& x) { return gelu_tanh(x); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
};
const Activation& activation(const std::string& name) {
  std::string known;
  for (const Activation& a : kActivations) {
    if (name == a.name) return a;
    known += (known.empty() ? "" : ", ") + std::string(a.name);
  }
  throw ValueError(fmt::format("config.json: activation \"{}\" is none of {}", name, known));
}

}  // namespace

std::set<std::string> turned_weights(nn::Module& model) {
  std::set<std::string> all;
  for (auto& [path, module] : model.named_modules())
    if (module->as<TurnedLinear>()) all.insert(path + ".weight");
  return all;
}

Tensor activate(const std::string& function, const Tensor& x) { return activation(function).run(x); }
void check_activation(const std::string& function) { activation(function); }

RmsNorm::RmsNorm(int64_t width, double eps, bool from_one, nn::Options options)
    : weight(nn::make_parameter({width}, options)), eps_(eps), from_one_(from_one) {
  add_parameter("weight", weight);
  nn::init::constant_(weight, from_one ? 0 : 1);
}
Tensor RmsNorm::forward(const Tensor& x) { return rms_norm(x, {weight.size(0)}, from_one_ ? weight + 1 : weight, eps_); }

Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}
Tensor repeat_heads(const Tensor& x, int64_t times) {
  const int64_t B = x.size(0), H = x.size(1), T = x.size(2), D = x.size(3);
  return times == 1 ? x : unsqueeze(x, 2).expand({B, H, times, T, D}).reshape({B, H * times, T, D});
}

Attention::Attention(const AttentionShape& s, nn::Options options)
    : shape_(s), o_(s.heads * s.head_dim, s.width, s.out_bias, options) {
  DY_CHECK_AS(ValueError, s.heads % s.kv_heads == 0,
              "config.json: num_attention_heads {} is no multiple of num_key_value_heads {}", s.heads, s.kv_heads);
  const int64_t asked = s.heads * s.head_dim, held = s.kv_heads * s.head_dim;
  const auto projection = [&](const char* name, std::unique_ptr<nn::Linear>& to, int64_t size) {
    to = std::make_unique<nn::Linear>(s.width, size, s.bias, options);
    add(name, *to);
  };
  if (s.fused) {
    projection("qkv_proj", qkv_, asked + 2 * held);
  } else {
    projection("q_proj", q_, s.gated ? 2 * asked : asked);
    if (!s.borrows) projection("k_proj", k_, held);
    if (!s.borrows && !s.one_key_value) projection("v_proj", v_, held);
  }
  add("o_proj", o_);
  if (s.norm != QueryNorm::none) {
    const bool whole = s.norm == QueryNorm::whole;
    const auto norm = [&](const char* name, std::unique_ptr<RmsNorm>& to, int64_t size) {
      to = std::make_unique<RmsNorm>(whole ? size : s.head_dim, s.eps, s.norm_from_one, options);
      add(name, *to);
    };
    norm("q_norm", q_norm_, asked);
    if (!s.borrows) norm("k_norm", k_norm_, held);
  }
  if (s.sinks) add_parameter("sinks", sinks_ = nn::make_parameter({s.heads}, options));
}

Attention::Heads Attention::project(const Tensor& x) {
  const AttentionShape& s = shape_;
  const bool whole = s.norm == QueryNorm::whole, head = s.norm == QueryNorm::head;
  const int64_t asked = s.heads * s.head_dim, held = s.kv_heads * s.head_dim;
  Tensor q, k, v;
  Heads h;
  if (s.fused) {
    const Tensor all = (*qkv_)(x);
    q = narrow(all, -1, 0, asked), k = narrow(all, -1, asked, held), v = narrow(all, -1, asked + held, held);
  } else {
    q = (*q_)(x);
    if (k_) k = (*k_)(x), v = v_ ? (*v_)(x) : k;
  }
  if (s.gated) {
    const Tensor both = q.view({x.size(0), x.size(1), s.heads, 2 * s.head_dim});
    const std::vector<int64_t> flat{x.size(0), x.size(1), asked};
    q = narrow(both, -1, 0, s.head_dim).reshape(flat), h.gate = narrow(both, -1, s.head_dim, s.head_dim).reshape(flat);
  }
  h.q = split_heads(whole ? (*q_norm_)(q) : q, s.heads);
  if (head) h.q = (*q_norm_)(h.q);
  if (s.borrows) return h;
  h.k = split_heads(whole ? (*k_norm_)(k) : k, s.kv_heads), h.v = split_heads(v, s.kv_heads);
  if (head) h.k = (*k_norm_)(h.k);
  if (s.value_norm) h.v = rms_norm(h.v, {s.head_dim}, {}, s.eps);
  return h;
}

// The new keys and values after those before them.
Cache::Seen Attention::keep(const Heads& h, Pass& pass, size_t layer) {
  if (shape_.borrows) return pass.lent.at(shape_.window);
  const Rope* rope = shape_.rope.get();
  Cache::Seen seen{rope && !rope->changes() ? pass.turned(h.k, *rope, pass.past) : h.k, h.v, 0};
  if (pass.cache) seen = pass.cache->append(layer, seen.keys, seen.values, shape_.window);
  if (rope && rope->changes()) {
    seen = seen.plain(h.k.dtype());
    seen.keys = pass.turned(seen.keys, *rope, seen.first);
  }
  if (shape_.lends) pass.lent[shape_.window] = seen;
  return seen;
}

Tensor Attention::run(const Tensor& x, Pass& pass, size_t layer) {
  const nn::ModuleScope scope(*this);
  Heads h = project(x);
  if (shape_.rope) h.q = pass.turned(h.q, *shape_.rope, pass.past);
  if (shape_.beta != 0) {
    const Tensor at = pass.positions(pass.past, pass.tokens).to(f32) / double(shape_.original);
    const Tensor scale = (log(floor(at) + 1) * shape_.beta + 1).to(h.q.dtype());
    h.q = h.q * unsqueeze(scale.dim() == 2 ? unsqueeze(scale, 1) : scale, -1);
  }
  const Cache::Seen seen = keep(h, pass, layer);
  Tensor mixed = attend(h.q, seen, pass, shape_.scale, shape_.window, shape_.softcap, sinks_);
  mixed = mixed.transpose(1, 2).reshape({x.size(0), x.size(1), shape_.heads * shape_.head_dim});
  return o_(shape_.gated ? mixed * sigmoid(h.gate) : mixed);
}

Tensor attend(const Tensor& asked, const Cache::Seen& kept, Pass& pass, double scale, int64_t window, double softcap,
              const Tensor& sinks) {
  const int64_t B = asked.size(0), H = asked.size(1), T = asked.size(2), D = asked.size(3), held = kept.keys.size(1),
                times = H / held;
  const bool plain = softcap == 0 && !sinks.defined();
  // One token's products decode what is stored as they go, into f32; others read it decoded.
  const bool stored =
      plain && T == 1 && asked.dtype() != f64 && (kept.keys.dtype().is_scaled() || kept.values.dtype().is_scaled());
  const DType dtype = stored ? f32 : asked.dtype();
  const auto readable = [&](const Tensor& t) { return stored && t.dtype().is_scaled() ? t : t.to(dtype); };
  const Tensor q = (kept.rotated ? rotated(asked) : asked).to(dtype);
  const Cache::Seen seen{readable(kept.keys), readable(kept.values), kept.first};
  if (plain && pass.is_causal(window) && T > 1)
    return scaled_dot_product_attention(q, repeat_heads(seen.keys, times), repeat_heads(seen.values, times), {}, 0, true,
                                        scale);
  const Tensor mask = pass.mask(window, seen.first, seen.keys.size(2));
  if (plain && T == 1)  // the queries of a group of heads are rows over the same keys
    return scaled_dot_product_attention(q.reshape({B, held, times, D}), seen.keys, seen.values, mask, 0, false, scale)
        .reshape({B, H, 1, seen.values.size(3)})
        .to(asked.dtype());
  const Tensor keys = repeat_heads(seen.keys, times), values = repeat_heads(seen.values, times);
  if (plain) return scaled_dot_product_attention(q, keys, values, mask, 0, false, scale);
  Tensor scores = matmul(q, keys.transpose(2, 3)) * scale;
  if (scores.dtype() != f64) scores = scores.to(f32);
  if (softcap != 0) scores = tanh(scores / softcap) * softcap;
  if (mask.defined()) scores = masked_fill(scores, logical_not(mask), -INFINITY);
  if (!sinks.defined()) return matmul(softmax(scores, -1).to(q.dtype()), values);
  const Tensor sink = sinks.to(scores.dtype()).view({1, H, 1, 1}).expand({B, H, T, 1});
  const Tensor shares = softmax(cat(std::vector{scores, sink}, -1), -1);
  return matmul(narrow(shares, -1, 0, scores.size(-1)).to(q.dtype()), values);
}

GatedMlp::GatedMlp(int64_t width, int64_t hidden, std::string activation, bool bias, nn::Options options, const MlpNames& names)
    : gate_(width, hidden, bias, options),
      up_(width, hidden, bias, options),
      down_(hidden, width, bias, options),
      activation_(std::move(activation)) {
  check_activation(activation_);
  add(names.gate, gate_), add(names.up, up_), add(names.down, down_);
}

FusedMlp::FusedMlp(int64_t width, int64_t hidden, std::string activation, nn::Options options)
    : gate_up_(width, 2 * hidden, false, options), down_(hidden, width, false, options), activation_(std::move(activation)) {
  check_activation(activation_);
  add("gate_up_proj", gate_up_), add("down_proj", down_);
}
Tensor FusedMlp::forward(const Tensor& x) {
  const Tensor both = gate_up_(x);
  const int64_t hidden = both.size(-1) / 2;
  return down_(activate(activation_, narrow(both, -1, 0, hidden)) * narrow(both, -1, hidden, hidden));
}

}  // namespace dyadic::inline v1::models
