// Gemma 4: norms without + 1, scores as they are, values without a length. Layers that see all have larger heads, of which a
// part of the pairs is turned, and may have their keys for values; the last layers see the keys and values of an earlier one.
// Small models tell each layer of the tokens anew; large ones have experts beside the gated layer.
#include <cmath>

#include "dyadic/numbers.h"
#include "dyadic/ops_nn.h"
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

struct Gemma4Shape {
  int64_t width, by_layer, by_layer_vocab;  // by_layer: width of what each layer is told of a token; 0: nothing
  double eps;
  std::string activation;
  std::vector<AttentionShape> attention;  // of each layer
  std::vector<int64_t> hidden;
  Routing routing;  // no experts: none
  int64_t expert_hidden;
};

// Each token's experts and the gated layer's place beside them: the layer calls its parts.
class Gemma4Router : public nn::Module {
 public:
  Gemma4Router(const Gemma4Shape& s, nn::Options o)
      : routing_(s.routing),
        eps_(s.eps),
        proj_(s.width, s.routing.experts, false, o),
        scale_(nn::make_parameter({s.width}, o)),
        by_expert_(nn::make_parameter({s.routing.experts}, o)) {
    add("proj", proj_);
    add_parameter("scale", scale_), add_parameter("per_expert_scale", by_expert_);
  }
  const char* kind() const override { return "Gemma4Router"; }
  // Shares [N, chosen] of x [N, width], and experts' numbers.
  std::pair<Tensor, Tensor> run(const Tensor& x) {
    const nn::ModuleScope scope(*this);
    const int64_t width = x.size(1);
    const Tensor scores = proj_(rms_norm(x, {width}, {}, eps_) * scale_ / std::sqrt(double(width)));
    auto [shares, chosen] = topk(softmax(scores.dtype() == f64 ? scores : scores.to(f32), -1), routing_.chosen);
    const Tensor own = index_select(by_expert_, 0, chosen.reshape({-1})).view(chosen.sizes());
    return {shares / sum(shares, {-1}, true) * own, chosen};
  }

 private:
  Routing routing_;
  double eps_;
  nn::Linear proj_;
  Tensor scale_, by_expert_;
};

class Gemma4Layer : public DecoderLayer {
  struct Matrices : nn::Module {
    Tensor gate_up, down;
    const char* kind() const override { return "ExpertWeights"; }
    bool is_matrix(std::string_view) const override { return true; }
  };

 public:
  Gemma4Layer(const Gemma4Shape& s, int64_t layer, nn::Options o)
      : activation_(s.activation),
        attention_(s.attention[size_t(layer)], o),
        mlp_(s.width, s.hidden[size_t(layer)], s.activation, false, o),
        scalar_(nn::make_parameter({1}, o)) {
    const auto norm = [&](const char* name, std::unique_ptr<RmsNorm>& to) {
      add(name, *(to = std::make_unique<RmsNorm>(s.width, s.eps, false, o)));
    };
    const auto projection = [&](const char* name, std::unique_ptr<nn::Linear>& to, int64_t from, int64_t size) {
      add(name, *(to = std::make_unique<nn::Linear>(from, size, false, o)));
    };
    add_parameter("layer_scalar", scalar_);
    norm("input_layernorm", before_attention_), add("self_attn", attention_);
    norm("post_attention_layernorm", after_attention_), norm("pre_feedforward_layernorm", before_feed_);
    add("mlp", mlp_), norm("post_feedforward_layernorm", after_feed_);
    if (s.routing.experts) {
      router_ = std::make_unique<Gemma4Router>(s, o);
      const int64_t n = s.routing.experts;
      experts_.add_parameter("gate_up_proj", experts_.gate_up = nn::make_parameter({n, 2 * s.expert_hidden, s.width}, o));
      experts_.add_parameter("down_proj", experts_.down = nn::make_parameter({n, s.width, s.expert_hidden}, o));
      add("router", *router_), add("experts", experts_);
      norm("post_feedforward_layernorm_1", after_mlp_), norm("pre_feedforward_layernorm_2", before_experts_);
      norm("post_feedforward_layernorm_2", after_experts_);
    }
    if (s.by_layer) {
      projection("per_layer_input_gate", told_gate_, s.width, s.by_layer);
      projection("per_layer_projection", told_up_, s.by_layer, s.width);
      norm("post_per_layer_input_norm", after_told_);
    }
  }
  const char* kind() const override { return "Gemma4Layer"; }

  Tensor run(const Tensor& x, Pass& pass, size_t layer) override {
    Tensor y = x + (*after_attention_)(attention_.run((*before_attention_)(x), pass, layer));
    y = y + (*after_feed_)(feed(y));
    if (told_gate_) {
      const Tensor told = activate(activation_, (*told_gate_)(y)) * select(pass.by_layer, 2, int64_t(layer));
      y = y + (*after_told_)((*told_up_)(told));
    }
    return y * scalar_;
  }

 private:
  Tensor feed(const Tensor& x) {
    const Tensor plain = mlp_((*before_feed_)(x));
    if (!router_) return plain;
    const Tensor rows = x.reshape({-1, x.size(-1)});
    const auto [shares, chosen] = router_->run(rows);
    const Tensor mixed = mix(
        (*before_experts_)(rows), chosen, shares, experts_.down.size(0),
        [&](const Tensor& mine, int64_t e) { return stacked_expert(mine, experts_.gate_up, experts_.down, e, activation_); });
    return (*after_mlp_)(plain) + (*after_experts_)(mixed).view(x.sizes());
  }
  std::string activation_;
  Attention attention_;
  GatedMlp mlp_;
  Matrices experts_;
  Tensor scalar_;
  std::unique_ptr<Gemma4Router> router_;
  std::unique_ptr<nn::Linear> told_gate_, told_up_;
  std::unique_ptr<RmsNorm> before_attention_, after_attention_, before_feed_, after_feed_, after_mlp_, before_experts_,
      after_experts_, after_told_;
};

class Gemma4 : public Decoder {
 public:
  Gemma4(const std::string& config, const Plan& plan, const Gemma4Shape& s, nn::Options o)
      : Decoder(config, plan, o), layers_(plan.layers), told_(s.by_layer) {
    if (told_ == 0) return;
    tokens_ = std::make_unique<nn::Embedding>(s.by_layer_vocab, layers_ * told_, o);
    projection_ = std::make_unique<nn::Linear>(s.width, layers_ * told_, false, o);
    norm_ = std::make_unique<RmsNorm>(told_, s.eps, false, o);
    body().add("embed_tokens_per_layer", *tokens_), body().add("per_layer_model_projection", *projection_);
    body().add("per_layer_projection_norm", *norm_);
  }
  const char* kind() const override { return "Gemma4"; }

 protected:
  std::vector<nn::Module*> tables_of_tokens() override {
    return told_ ? std::vector<nn::Module*>() : Decoder::tables_of_tokens();  // a table for each layer as well
  }
  void begin(const Tensor& ids, const Tensor& x, Pass& pass) override {
    if (told_ == 0) return;
    DY_CHECK_AS(ValueError, ids.defined(),
                "Gemma4: each layer is told which tokens there are: give ids, embeddings alone do not say it");
    const std::vector<int64_t> split{ids.size(0), ids.size(1), layers_, told_};
    const Tensor own = ((*tokens_)(ids).to(x.dtype()) * std::sqrt(double(told_))).view(split);
    const Tensor seen = (*norm_)(((*projection_)(x) / std::sqrt(double(x.size(-1)))).view(split));
    pass.by_layer = (own + seen) * std::sqrt(0.5);
  }

 private:
  int64_t layers_, told_;
  std::unique_ptr<nn::Embedding> tokens_;
  std::unique_ptr<nn::Linear> projection_;
  std::unique_ptr<RmsNorm> norm_;
};

// What layers that see all have otherwise, in the newer dialect by the layer's number.
int64_t own_size(const Config& c, int64_t layer, const char* key, int64_t otherwise) {
  if (!c.has("per_layer_config")) return otherwise;
  const json& all = c.at("per_layer_config");
  const auto found = all.find(std::to_string(layer));
  if (found == all.end() || !found->is_object() || !found->contains(key)) return c.size(key);
  const std::vector<int64_t> value = integers_of(*found, key);
  DY_CHECK_AS(ValueError, value.size() == 1 && value[0] >= 1 && value[0] <= (1 << 30),
              "config.json: per_layer_config: {}: not a size", key);
  return value[0];
}

// Layers from this one on borrow the keys and values of the last one before it that has their window.
void set_lenders(Gemma4Shape& s, int64_t first) {
  const auto layers = int64_t(s.attention.size());
  for (int64_t i = first; i < layers; ++i) {
    AttentionShape& own = s.attention[size_t(i)];
    int64_t lender = first - 1;
    while (lender >= 0 && s.attention[size_t(lender)].window != own.window) --lender;
    DY_CHECK_AS(ValueError, lender >= 0, "config.json: num_kv_shared_layers: layer {} has none of its kind before layer {}", i,
                first);
    s.attention[size_t(lender)].lends = own.borrows = true;
    own.kv_heads = s.attention[size_t(lender)].kv_heads;
  }
}

std::shared_ptr<CausalLM> make_gemma4(const std::string& config, const Config& given, nn::Options options) {
  Config c = given;
  c.usually("vocab_size", 262144).usually("max_position_embeddings", 131072);
  Plan p = common_plan(c, 256);
  DY_CHECK_AS(ValueError, c.word("use_bidirectional_attention", "vision") == "vision",
              "config.json: use_bidirectional_attention: a model that sees what comes after is none that generates");
  p.tied = c.flag("tie_word_embeddings", true);
  p.embed_scale = std::sqrt(double(p.attention.width));
  p.logit_softcap = c.real("final_logit_softcapping", 0);
  p.attention.norm = QueryNorm::head, p.attention.value_norm = true, p.attention.scale = 1;
  const int64_t window = c.size("sliding_window", 512), borrowing = c.integer("num_kv_shared_layers", 0);
  set_windows(p, c, window, [&](int64_t i) { return (i + 1) % 6 != 0 && i + 1 < p.layers; });
  DY_CHECK_AS(ValueError, borrowing <= p.layers, "config.json: num_kv_shared_layers is {}, of {} layers", borrowing, p.layers);

  Gemma4Shape s{.width = p.attention.width,
                .by_layer = c.integer("hidden_size_per_layer_input", 256),
                .by_layer_vocab = c.size("vocab_size_per_layer_input", 262144),
                .eps = p.eps,
                .activation = c.word("hidden_activation", "gelu_pytorch_tanh"),
                .attention = {},
                .hidden = {},
                .routing = {},
                .expert_hidden = 0};
  const bool one = c.flag("attention_k_eq_v", false), doubled = c.flag("use_double_wide_mlp", false);
  json turning = c.rope("full_attention", "rope_theta", 1e6);
  if (!c.has("rope_parameters")) turning["rope_type"] = "proportional", turning["partial_rotary_factor"] = 0.25;
  const auto near =
      std::make_shared<Rope>(c.rope("sliding_attention", "rope_local_base_freq", 1e4), p.attention.head_dim, p.longest);
  std::map<int64_t, std::shared_ptr<const Rope>> far;  // by size of head
  for (int64_t i = 0; i < p.layers; ++i) {
    AttentionShape& a = s.attention.emplace_back(p.attention);
    a.window = p.windows[size_t(i)], a.rope = near;
    s.hidden.push_back(doubled && i >= p.layers - borrowing ? 2 * p.hidden : p.hidden);
    if (a.window) continue;
    a.head_dim = own_size(c, i, "head_dim", c.size("global_head_dim", 512));
    a.kv_heads = own_size(c, i, "num_key_value_heads", one ? c.size("num_global_key_value_heads", a.kv_heads) : a.kv_heads);
    a.one_key_value = one;
    auto& rope = far[a.head_dim];
    if (!rope) rope = std::make_shared<Rope>(turning, a.head_dim, p.longest);
    a.rope = rope;
  }
  for (size_t i = 0; i < p.ropes.size(); ++i) p.ropes[i] = s.attention[i].rope;
  set_lenders(s, p.layers - borrowing);
  if (c.flag("enable_moe_block", false)) {
    s.routing = {c.size("num_experts"), c.size("top_k_experts"), true}, s.expert_hidden = c.size("moe_intermediate_size");
    DY_CHECK_AS(ValueError, s.routing.chosen <= s.routing.experts, "config.json: top_k_experts is {}, of {} experts",
                s.routing.chosen, s.routing.experts);
  }
  p.layer = [s](int64_t layer, nn::Options o) { return std::make_shared<Gemma4Layer>(s, layer, o); };
  return std::make_shared<Gemma4>(config, p, s, options);
}

}  // namespace

extern const Family gemma4{"gemma4", make_gemma4};
extern const Family gemma4_text{"gemma4_text", make_gemma4};

}  // namespace dyadic::inline v1::models
