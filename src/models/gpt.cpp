#include "dyadic/gpt.h"

#include <cmath>

#include "base/check.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {

GptBlock::GptBlock(const GptConfig& c, nn::Options o)
    : ln1({c.width}, 1e-5, true, c.bias, o),
      qkv(c.width, 3 * c.width, c.bias, o),
      proj(c.width, c.width, c.bias, o),
      ln2({c.width}, 1e-5, true, c.bias, o),
      fc(c.width, 4 * c.width, c.bias, o),
      out(4 * c.width, c.width, c.bias, o),
      heads(c.heads) {
  add("ln1", ln1);
  add("qkv", qkv);
  add("proj", proj);
  add("ln2", ln2);
  add("fc", fc);
  add("out", out);
}

Tensor GptBlock::forward(const Tensor& x) {
  int64_t B = x.size(0), T = x.size(1), C = x.size(2);
  Tensor packed = qkv(ln1(x)).view({B, T, 3, heads, C / heads});
  Tensor y = x + proj(call(Op::packed_attention_, packed, true).view({B, T, C}));
  return y + out(gelu(fc(ln2(y))));
}

Gpt::Gpt(const GptConfig& c, nn::Options o)
    : config(c), tok(c.vocab, c.width, o), pos(c.block, c.width, o), ln({c.width}, 1e-5, true, c.bias, o) {
  DY_CHECK_AS(ValueError, c.heads > 0 && c.width % c.heads == 0, "Gpt: the width is no multiple of the heads: {} and {}",
              c.width, c.heads);
  add("tok", tok);
  add("pos", pos);
  add("blocks", blocks);
  for (int64_t i = 0; i < c.layers; ++i) blocks.append(std::make_shared<GptBlock>(c, o));
  add("ln", ln);
  for (auto& [name, p] : named_parameters()) {
    if (p.dim() < 2) {
      if (name.ends_with("bias")) nn::init::constant_(p, 0);
      continue;
    }
    bool residual = name.ends_with("proj.weight") || name.ends_with("out.weight");
    nn::init::normal_(p, 0, residual ? 0.02 / std::sqrt(2.0 * double(c.layers)) : 0.02);
  }
}

Tensor Gpt::forward(const Tensor& tokens) {
  int64_t T = tokens.size(-1);
  DY_CHECK_AS(ValueError, tokens.dim() == 2 && T <= config.block, "Gpt: tokens are [batch, at most {}]: tokens is {}",
              config.block, describe(tokens));
  // Tables stored in a narrower format than the rest computes in are read, not computed with.
  DType compute = ln.weight.dtype();
  Tensor x = tok(tokens).to(compute) + pos(arange(int64_t(0), T, int64_t(1), i64, tokens.device())).to(compute);
  for (auto* block : blocks) x = (*block)(x);
  return linear(ln(x), tok.weight);
}

Tensor Gpt::loss(const Tensor& tokens, const Tensor& targets) {
  nn::ModuleScope scope(*this);
  Tensor logits = forward(tokens);
  return cross_entropy(logits.view({-1, config.vocab}), targets.view({-1}));
}

}  // namespace dyadic::inline v1::models
