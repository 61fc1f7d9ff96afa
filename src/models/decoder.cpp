#include "models/decoder.h"

#include <cmath>

namespace dyadic::inline v1::models {
namespace {

class Block : public DecoderLayer {
 public:
  Block(const Plan& p, int64_t layer, nn::Options options) : residual_scale_(p.residual_scale) {
    AttentionShape shape = p.attention;
    shape.window = p.windows[size_t(layer)], shape.rope = p.ropes[size_t(layer)];
    if (p.mixer) mixer_ = p.mixer(layer, options);
    const char* mixer_name = mixer_ ? p.mixer_name : "self_attn";
    if (!mixer_) mixer_ = std::make_shared<Attention>(shape, options);
    feed_ = p.feed ? p.feed(layer, options) : std::make_shared<GatedMlp>(shape.width, p.hidden, p.activation, false, options);
    const auto norm = [&](const char* name, std::unique_ptr<RmsNorm>& to) {
      to = std::make_unique<RmsNorm>(shape.width, p.eps, p.norm_from_one, options);
      add(name, *to);
    };
    if (p.norms != Norms::after) norm("input_layernorm", before_attention_);
    add(mixer_name, mixer_);
    if (p.norms == Norms::before) {
      norm("post_attention_layernorm", before_feed_);  // so it is called, and stands before the gated layer
    } else {
      norm("post_attention_layernorm", after_attention_);
      if (p.norms == Norms::around) norm("pre_feedforward_layernorm", before_feed_);
      norm("post_feedforward_layernorm", after_feed_);
    }
    add(p.feed_name, feed_);
  }
  Tensor run(const Tensor& x, Pass& pass, size_t layer) override {
    Tensor y = mixer_->run(before_attention_ ? (*before_attention_)(x) : x, pass, layer);
    if (after_attention_) y = (*after_attention_)(y);
    const Tensor z = added(x, y);
    y = (*feed_)(before_feed_ ? (*before_feed_)(z) : z);
    return added(z, after_feed_ ? (*after_feed_)(y) : y);
  }
  const char* kind() const override { return "DecoderLayer"; }

 private:
  Tensor added(const Tensor& x, const Tensor& y) const { return residual_scale_ == 1 ? x + y : x + y * residual_scale_; }
  double residual_scale_;
  std::shared_ptr<Mixer> mixer_;
  std::shared_ptr<nn::Module> feed_;
  std::unique_ptr<RmsNorm> before_attention_, after_attention_, before_feed_, after_feed_;
};

}  // namespace

Tensor embedded(nn::Embedding& table, const Tensor& ids, const ForwardOptions& o, DType dtype) {
  DY_CHECK_AS(
      ValueError, !o.token_types.defined(),
      "forward: token_type_ids: this model knows one kind of text, whose tokens have 0; give second texts by themselves");
  if (!o.embeddings.defined()) return table(ids).to(dtype);
  DY_CHECK_AS(ValueError, o.embeddings.size(2) == table.embedding_dim,
              "forward: embeddings are [B, T, {}] of this model: they are {}", table.embedding_dim, describe(o.embeddings));
  return o.embeddings.to(dtype);
}

Decoder::Body::Body(const Plan& p, nn::Options o)
    : embed(p.vocab, p.attention.width, o), norm(p.attention.width, p.eps, p.norm_from_one, o) {
  add("embed_tokens", embed), add("layers", layers), add("norm", norm);
  for (int64_t i = 0; i < p.layers; ++i) layers.append(p.layer ? p.layer(i, o) : std::make_shared<Block>(p, i, o));
}

Decoder::Decoder(const std::string& config, Plan plan, nn::Options options)
    : CausalLM(config), plan_(std::move(plan)), body_(plan_, options) {
  add("model", body_);
  if (plan_.tied) return;
  head_ = std::make_unique<nn::Linear>(plan_.attention.width, plan_.vocab, false, options);
  add("lm_head", *head_);
}

int64_t Decoder::turning_point() const {
  for (auto& rope : plan_.ropes)
    if (rope && rope->turning_point()) return rope->turning_point();
  return 0;
}

std::vector<nn::Module*> Decoder::tables_of_tokens() {
  return head_ ? std::vector<nn::Module*>{&body_.embed, &*head_} : std::vector<nn::Module*>{&body_.embed};
}

Tensor Decoder::hidden(const Tensor& ids, const ForwardOptions& o) {
  const DType dtype = body_.norm.weight.dtype();
  Tensor x = embedded(body_.embed, ids, o, dtype);
  if (plan_.embed_scale != 1) x = x * plan_.embed_scale;
  Pass pass(ids, o.cache, o.pad, dtype);
  begin(o.embeddings.defined() ? Tensor() : ids, x, pass);
  return through_layers(body_.layers, x, pass, o, body_.norm);
}
Tensor Decoder::head(const Tensor& hidden) {
  Tensor x = head_ ? (*head_)(hidden) : linear(hidden, body_.embed.weight);
  if (plan_.logit_divisor != 1) x = x / plan_.logit_divisor;
  return plan_.logit_softcap != 0 ? tanh(x / plan_.logit_softcap) * plan_.logit_softcap : x;
}

Plan common_plan(const Config& c, int64_t head_dim) {
  Plan p;
  p.vocab = c.size("vocab_size"), p.layers = c.integer("num_hidden_layers"), p.hidden = c.size("intermediate_size");
  c.check_modules(p.layers, 1, "attention");
  p.longest = c.size("max_position_embeddings", 2048);
  AttentionShape& a = p.attention;
  a.width = c.size("hidden_size"), a.heads = c.size("num_attention_heads");
  a.kv_heads = c.size("num_key_value_heads", a.heads);
  if (head_dim == 0 && !c.has("head_dim")) {
    DY_CHECK_AS(ValueError, a.width % a.heads == 0, "config.json: hidden_size {} is no multiple of num_attention_heads {}",
                a.width, a.heads);
    head_dim = a.width / a.heads;
  }
  a.head_dim = c.size("head_dim", head_dim);
  a.bias = a.out_bias = c.flag("attention_bias", false);
  a.eps = p.eps = c.real("rms_norm_eps", 1e-6);
  a.scale = 1 / std::sqrt(double(a.head_dim));
  p.activation = c.word("hidden_act", "silu");
  p.tied = c.flag("tie_word_embeddings", false);
  p.windows.assign(size_t(p.layers), 0);
  p.ropes.assign(size_t(p.layers), std::make_shared<Rope>(c.rope(), a.head_dim, p.longest));
  return p;
}

}  // namespace dyadic::inline v1::models
