// A GPT: decoder only, pre-norm, GELU MLP of 4x, learned positions, head tied to the token embedding.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::models {

struct GptConfig {
  int64_t vocab = 256, block = 64, layers = 4, heads = 4, width = 128;
  bool bias = true;  // of linear layers and norms
};

class GptBlock : public nn::Module {
 public:
  nn::LayerNorm ln1;
  nn::Linear qkv, proj;
  nn::LayerNorm ln2;
  nn::Linear fc, out;
  int64_t heads;
  GptBlock(const GptConfig& c, nn::Options o);
  Tensor forward(const Tensor& x) override;  // [B, T, C] -> [B, T, C]
  const char* kind() const override { return "GptBlock"; }
};

class Gpt : public nn::Module {
 public:
  GptConfig config;
  nn::Embedding tok, pos;
  nn::ModuleList<GptBlock> blocks;
  nn::LayerNorm ln;
  // Weights from N(0, 0.02), those that write into the residual stream from N(0, 0.02 / sqrt(2 layers)), biases zero.
  explicit Gpt(const GptConfig& c, nn::Options o = {});
  Tensor forward(const Tensor& tokens) override;  // i64 [B, T] -> logits [B, T, vocab]
  // Mean cross entropy in nats per token.
  Tensor loss(const Tensor& tokens, const Tensor& targets);
  const char* kind() const override { return "Gpt"; }
};

}  // namespace dyadic::inline v1::models
