#include "dyadic/llama.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/checkpoint.h"
#include "models/parts.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

nn::Layer rms_norm_layer(const LlamaConfig& c, nn::Options options) {
  const Arg args[] = {IntList{&c.width, 1}, c.eps};
  return nn::Layer(nn::layer_def("RMSNorm"), args, options);
}

}  // namespace

Tensor rotary(const Tensor& x, double base) {
  const int64_t T = x.size(-2), D = x.size(-1), half = D / 2;
  DY_CHECK_AS(ValueError, D % 2 == 0, "rotary: the last size must be even: x is {}", describe(x));
  Tensor cosine, sine;
  {
    NoGrad constant;
    Tensor speed = exp(arange(int64_t(0), half, int64_t(1), f32, x.device()) * (-2 * std::log(base) / double(D)));
    Tensor angle = unsqueeze(arange(int64_t(0), T, int64_t(1), f32, x.device()), 1) * speed;
    cosine = cos(angle).to(x.dtype()), sine = sin(angle).to(x.dtype());
  }
  Tensor a = narrow(x, -1, 0, half), b = narrow(x, -1, half, half);
  return cat(std::vector{a * cosine - b * sine, b * cosine + a * sine}, -1);
}

LlamaBlock::LlamaBlock(const LlamaConfig& c, nn::Options options)
    : norm1(rms_norm_layer(c, options)),
      q(c.width, c.width, false, options),
      k(c.width, c.width / c.heads * c.kv_heads, false, options),
      v(c.width, c.width / c.heads * c.kv_heads, false, options),
      o(c.width, c.width, false, options),
      norm2(rms_norm_layer(c, options)),
      gate(c.width, c.hidden, false, options),
      up(c.width, c.hidden, false, options),
      down(c.hidden, c.width, false, options),
      heads_(c.heads),
      kv_heads_(c.kv_heads),
      rotary_base_(c.rotary_base) {
  add("norm1", norm1);
  add("q", q);
  add("k", k);
  add("v", v);
  add("o", o);
  add("norm2", norm2);
  add("gate", gate);
  add("up", up);
  add("down", down);
}

Tensor LlamaBlock::attention(const Tensor& x) {
  const int64_t times = heads_ / kv_heads_;
  Tensor queries = rotary(split_heads(q(x), heads_), rotary_base_), keys = rotary(split_heads(k(x), kv_heads_), rotary_base_);
  Tensor values = split_heads(v(x), kv_heads_);
  Tensor mixed = scaled_dot_product_attention(queries, repeat_heads(keys, times), repeat_heads(values, times), {}, 0, true);
  return o(mixed.transpose(1, 2).reshape(x.sizes()));
}

Tensor LlamaBlock::forward(const Tensor& x) {
  Tensor y = x + attention(norm1(x)), z = norm2(y);
  return y + down(silu(gate(z)) * up(z));
}

Llama::Llama(const LlamaConfig& c, nn::Options options)
    : config(c), tok(c.vocab, c.width, options), norm(rms_norm_layer(c, options)), head(c.width, c.vocab, false, options) {
  DY_CHECK_AS(ValueError, c.heads > 0 && c.width % (2 * c.heads) == 0,
              "Llama: a head's width must be even: the width is {}, of {} heads", c.width, c.heads);
  DY_CHECK_AS(ValueError, c.kv_heads > 0 && c.heads % c.kv_heads == 0,
              "Llama: the heads are no multiple of those of keys and values: {} and {}", c.heads, c.kv_heads);
  add("tok", tok);
  add("blocks", blocks);
  for (int64_t i = 0; i < c.layers; ++i) blocks.append(std::make_shared<LlamaBlock>(c, options));
  add("norm", norm);
  add("head", head);
  for (auto& entry : named_parameters())
    if (entry.second.dim() >= 2) nn::init::normal_(entry.second, 0, 0.02);
}

Tensor Llama::forward(const Tensor& tokens) {
  Tensor x = tok(tokens);
  for (auto* block : blocks) {
    auto run = [&block = *block](const Tensor& in) { return block(in); };
    x = config.recompute ? checkpoint(run, x) : run(x);
  }
  return head(norm(x));
}

Tensor Llama::loss(const Tensor& tokens, const Tensor& targets) {
  nn::ModuleScope scope(*this);
  return cross_entropy(forward(tokens).view({-1, config.vocab}), targets.view({-1}));
}

}  // namespace dyadic::inline v1::models
