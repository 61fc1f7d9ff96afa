// What families of models are made of: norms, attention, gated layers.
#pragma once
#include <memory>
#include <set>
#include <string>

#include "dyadic/ops_nn.h"
#include "models/pass.h"

namespace dyadic::inline v1::models {

Tensor activate(const std::string& function, const Tensor& x);  // a config.json's hidden_act
void check_activation(const std::string& function);             // ValueError where there is none of that name

// x / rms(x) times weight, or times 1 + weight.
class RmsNorm : public nn::Module {
 public:
  Tensor weight;
  RmsNorm(int64_t width, double eps, bool from_one, nn::Options options);
  Tensor forward(const Tensor& x) override;
  const char* kind() const override { return "RmsNorm"; }
  bool is_matrix(std::string_view) const override { return false; }
  bool from_one() const { return from_one_; }

 private:
  double eps_;
  bool from_one_;
};

// What lets tokens see those before them: attention, or what stands in its place.
class Mixer : public nn::Module {
 public:
  virtual Tensor run(const Tensor& x, Pass& pass, size_t layer) = 0;  // [B, T, width] -> the same
};

// A Linear whose weight stands in files as [in, out] (GPT-2's "Conv1D"); scales belong to its rows here as well.
class TurnedLinear : public nn::Linear {
 public:
  TurnedLinear(int64_t in, int64_t out, nn::Options o) : Linear(in, out, true, o) {}
};
// Paths of the weights of such layers.
std::set<std::string> turned_weights(nn::Module& model);

enum class QueryNorm { none, head, whole };  // of queries and keys: each head's, or all heads' together

struct AttentionShape {
  int64_t width = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool bias = false, out_bias = false, fused = false;  // of q, k, v; of o; one qkv_proj
  QueryNorm norm = QueryNorm::none;
  double eps = 0;
  bool norm_from_one = false, sinks = false;
  bool value_norm = false;        // values are divided by their head's rms
  bool one_key_value = false;     // values are what k_proj gives, before its norm and positions
  bool lends = false;             // layers after it see its keys and values, in place of such of their own:
  bool borrows = false;           // those of the last layer that lends of the same window
  bool gated = false;             // q_proj gives each head's query and a gate: what the head sees is multiplied by its sigmoid
  double scale = 0, softcap = 0;  // of scores; 0: no cap
  // Queries times 1 + beta ln(1 + floor(position / original)).
  double beta = 0;
  int64_t original = 1;
  int64_t window = 0;                // 0: sees all
  std::shared_ptr<const Rope> rope;  // null: positions are not told
};

class Attention : public Mixer {
 public:
  Attention(const AttentionShape& shape, nn::Options options);
  Tensor run(const Tensor& x, Pass& pass, size_t layer) override;
  const char* kind() const override { return "Attention"; }

 private:
  struct Heads {
    Tensor q, k, v;  // [B, heads, T, D]
    Tensor gate;     // [B, T, heads * D], or undefined
  };
  Heads project(const Tensor& x);
  Cache::Seen keep(const Heads& h, Pass& pass, size_t layer);
  AttentionShape shape_;
  std::unique_ptr<nn::Linear> qkv_, q_, k_, v_;
  nn::Linear o_;
  std::unique_ptr<RmsNorm> q_norm_, k_norm_;
  Tensor sinks_;
};

// What is seen, by what is asked: q [B, H, T, D], keys and values of as many heads or a divisor of it. sinks: [H] or undefined.
Tensor attend(const Tensor& q, const Cache::Seen& seen, Pass& pass, double scale, int64_t window, double softcap = 0,
              const Tensor& sinks = {});
Tensor split_heads(const Tensor& x, int64_t heads);   // [B, T, H * D] -> [B, H, T, D]
Tensor repeat_heads(const Tensor& x, int64_t times);  // [B, H, T, D] -> [B, H * times, T, D], each head `times` in a row

struct MlpNames {
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
};
// down(activation(gate(x)) * up(x)).
class GatedMlp : public nn::Module {
 public:
  GatedMlp(int64_t width, int64_t hidden, std::string activation, bool bias, nn::Options options, const MlpNames& names = {});
  Tensor forward(const Tensor& x) override { return down_(activate(activation_, gate_(x)) * up_(x)); }
  const char* kind() const override { return "GatedMlp"; }

 private:
  nn::Linear gate_, up_, down_;
  std::string activation_;
};
class FusedMlp : public nn::Module {  // gate and up are one: gate_up_proj
 public:
  FusedMlp(int64_t width, int64_t hidden, std::string activation, nn::Options options);
  Tensor forward(const Tensor& x) override;
  const char* kind() const override { return "FusedMlp"; }

 private:
  nn::Linear gate_up_, down_;
  std::string activation_;
};

}  // namespace dyadic::inline v1::models
