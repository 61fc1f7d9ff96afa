// GPT-2 (Radford et al. 2019): learned positions, LayerNorm, and matrices stored [in, out].
#include <cmath>

#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

struct Gpt2Shape {
  int64_t vocab, width, heads, layers, hidden, longest;
  double eps, scale;
  bool by_layer;  // scores are divided by the layer's number as well
  std::string activation;
};

class Gpt2Block : public DecoderLayer {
  struct Attention : nn::Module {
    TurnedLinear qkv, proj;
    Attention(int64_t width, nn::Options o) : qkv(width, 3 * width, o), proj(width, width, o) {
      add("c_attn", qkv), add("c_proj", proj);
    }
    const char* kind() const override { return "Gpt2Attention"; }
  };
  struct Mlp : nn::Module {
    TurnedLinear fc, proj;
    Mlp(int64_t width, int64_t hidden, nn::Options o) : fc(width, hidden, o), proj(hidden, width, o) {
      add("c_fc", fc), add("c_proj", proj);
    }
    const char* kind() const override { return "Gpt2Mlp"; }
  };

 public:
  Gpt2Block(const Gpt2Shape& s, nn::Options o)
      : shape_(s),
        ln1_({s.width}, s.eps, true, true, o),
        attn_(s.width, o),
        ln2_({s.width}, s.eps, true, true, o),
        mlp_(s.width, s.hidden, o) {
    add("ln_1", ln1_), add("attn", attn_), add("ln_2", ln2_), add("mlp", mlp_);
  }
  Tensor run(const Tensor& x, Pass& pass, size_t layer) override {
    const Tensor y = x + attention(ln1_(x), pass, layer);
    return y + mlp_.proj(activate(shape_.activation, mlp_.fc(ln2_(y))));
  }
  const char* kind() const override { return "Gpt2Block"; }

 private:
  Tensor attention(const Tensor& x, Pass& pass, size_t layer) {
    const nn::ModuleScope scope(attn_);
    const Tensor all = attn_.qkv(x);
    const int64_t width = shape_.width, heads = shape_.heads;
    const Tensor q = split_heads(narrow(all, -1, 0, width), heads), k = split_heads(narrow(all, -1, width, width), heads);
    const Tensor v = split_heads(narrow(all, -1, 2 * width, width), heads);
    const Cache::Seen seen = pass.cache ? pass.cache->append(layer, k, v, 0) : Cache::Seen{k, v, 0};
    const double scale = shape_.by_layer ? shape_.scale / double(layer + 1) : shape_.scale;
    return attn_.proj(attend(q, seen, pass, scale, 0).transpose(1, 2).reshape(x.sizes()));
  }
  Gpt2Shape shape_;
  nn::LayerNorm ln1_;
  Attention attn_;
  nn::LayerNorm ln2_;
  Mlp mlp_;
};

class Gpt2 : public CausalLM {
  struct Body : nn::Module {
    nn::Embedding tokens, places;
    nn::ModuleList<Gpt2Block> blocks;
    nn::LayerNorm norm;
    Body(const Gpt2Shape& s, nn::Options o)
        : tokens(s.vocab, s.width, o), places(s.longest, s.width, o), norm({s.width}, s.eps, true, true, o) {
      add("wte", tokens), add("wpe", places), add("h", blocks), add("ln_f", norm);
      for (int64_t i = 0; i < s.layers; ++i) blocks.append(std::make_shared<Gpt2Block>(s, o));
    }
    const char* kind() const override { return "Gpt2Body"; }
  };

 public:
  Gpt2(const std::string& config, const Gpt2Shape& s, nn::Options o) : CausalLM(config), longest_(s.longest), body_(s, o) {
    add("transformer", body_);
  }
  const char* kind() const override { return "Gpt2"; }
  int64_t most_tokens() const override { return longest_; }
  int64_t vocab_size() const override { return body_.tokens.weight.size(0); }

 protected:
  std::vector<nn::Module*> tables_of_tokens() override { return {&body_.tokens}; }
  Tensor hidden(const Tensor& ids, const ForwardOptions& o) override {
    const DType dtype = body_.norm.weight.dtype();
    Pass pass(ids, o.cache, o.pad, dtype);
    DY_CHECK_AS(ValueError, pass.past + pass.tokens <= longest_,
                "Gpt2: {} tokens, and the model has {} positions (n_positions)", pass.past + pass.tokens, longest_);
    const Tensor x = embedded(body_.tokens, ids, o, dtype) + body_.places(pass.positions(pass.past, pass.tokens)).to(dtype);
    return through_layers(body_.blocks, x, pass, o, body_.norm);
  }
  Tensor head(const Tensor& hidden) override { return linear(hidden, body_.tokens.weight); }

 private:
  int64_t longest_;
  Body body_;
};

std::shared_ptr<CausalLM> make_gpt2(const std::string& config, const Config& c, nn::Options options) {
  Gpt2Shape s{.vocab = c.size("vocab_size"),
              .width = c.size("n_embd"),
              .heads = c.size("n_head"),
              .layers = c.integer("n_layer"),
              .hidden = 0,
              .longest = c.size("n_positions", 1024),
              .eps = c.real("layer_norm_epsilon", 1e-5),
              .scale = 1,
              .by_layer = c.flag("scale_attn_by_inverse_layer_idx", false),
              .activation = c.word("activation_function", "gelu_new")};
  s.hidden = c.size("n_inner", 4 * s.width);
  check_activation(s.activation);
  c.check_modules(s.layers, 1, "attention");
  DY_CHECK_AS(ValueError, s.width % s.heads == 0, "config.json: n_embd {} is no multiple of n_head {}", s.width, s.heads);
  if (c.flag("scale_attn_weights", true)) s.scale = 1 / std::sqrt(double(s.width / s.heads));
  return std::make_shared<Gpt2>(config, s, options);
}

}  // namespace

extern const Family gpt2{"gpt2", make_gpt2};

}  // namespace dyadic::inline v1::models
