// A Llama (Touvron et al. 2023): decoder only, RMSNorm before each part, rotary positions, grouped-query attention, SwiGLU, no
// biases, a head of its own. The defaults are those of 1.1 billion parameters.
#pragma once
#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::models {

struct LlamaConfig {
  int64_t vocab = 32000, layers = 22, width = 2048, heads = 32, kv_heads = 4, hidden = 5632;
  double rotary_base = 10000, eps = 1e-5;
  bool recompute = false;  // backward computes each block again instead of keeping what is inside
};

// x [..., T, D] with its pairs (x[i], x[i + D/2]) turned by t / base^(2i/D): products of two rotated vectors depend on the
// distance of their positions alone. (Su et al. 2021, in the layout of Hugging Face's files.)
Tensor rotary(const Tensor& x, double base = 10000);

class LlamaBlock : public nn::Module {
 public:
  nn::Layer norm1;
  nn::Linear q, k, v, o;
  nn::Layer norm2;
  nn::Linear gate, up, down;
  LlamaBlock(const LlamaConfig& c, nn::Options options);
  Tensor forward(const Tensor& x) override;  // [B, T, width] -> the same
  const char* kind() const override { return "LlamaBlock"; }

 private:
  Tensor attention(const Tensor& x);
  int64_t heads_, kv_heads_;
  double rotary_base_;
};

class Llama : public nn::Module {
 public:
  LlamaConfig config;
  nn::Embedding tok;
  nn::ModuleList<LlamaBlock> blocks;
  nn::Layer norm;
  nn::Linear head;
  // Weights from N(0, 0.02), made in options.dtype: nothing exists in another one first.
  explicit Llama(const LlamaConfig& c = {}, nn::Options options = {});
  Tensor forward(const Tensor& tokens) override;  // i64 [B, T] -> logits [B, T, vocab]
  // Mean cross entropy in nats per token.
  Tensor loss(const Tensor& tokens, const Tensor& targets);
  const char* kind() const override { return "Llama"; }
};

}  // namespace dyadic::inline v1::models
