// The decoder that most families are: an embedding, layers of attention and a gated layer, a norm, a head. What differs between
// them is in a Plan, which a family's file fills from its config.json.
#pragma once
#include <functional>

#include "models/experts.h"

namespace dyadic::inline v1::models {

enum class Norms { before, after, around };  // of each part: its input, its result (before it is added), or both

class DecoderLayer : public nn::Module {
 public:
  // run(), in this module's scope and between its hooks.
  Tensor called(const Tensor& x, Pass& pass, size_t layer) {
    const nn::ModuleScope scope(*this);
    if (!hooked()) return run(x, pass, layer);
    return around({x}, [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{run(in[0], pass, layer)}; })[0];
  }

 private:
  virtual Tensor run(const Tensor& x, Pass& pass, size_t layer) = 0;  // [B, T, width] -> the same
};

// The tokens' vectors in the dtype that the model computes in, those that are given or the table's: narrow formats of that are
// for its storage alone. ValueError where types of tokens are given, which an encoder alone is told.
Tensor embedded(nn::Embedding& table, const Tensor& ids, const ForwardOptions& o, DType dtype);

// x through layers and the norm behind them.
template <class Layer>
Tensor through_layers(nn::ModuleList<Layer>& layers, Tensor x, Pass& pass, const ForwardOptions& o, nn::Module& norm) {
  const auto tell = [&](const Tensor& state) {
    if (o.hidden_states) o.hidden_states->push_back(state);
  };
  size_t number = 0;
  for (Layer* layer : layers) {
    tell(x);
    x = layer->called(x, pass, number++);
  }
  if (o.cache) o.cache->advance(pass.tokens);
  const Tensor y = norm(o.last_alone ? narrow(x, 1, pass.tokens - 1, 1) : x);
  tell(y);
  return y;
}

struct Plan {
  int64_t vocab = 0, layers = 0, hidden = 0, longest = 0;
  AttentionShape attention;                        // window and rope are each layer's own
  std::vector<int64_t> windows;                    // by layer; 0: none
  std::vector<std::shared_ptr<const Rope>> ropes;  // by layer; null: none
  double eps = 0;
  Norms norms = Norms::before;
  bool norm_from_one = false, tied = false;
  std::string activation;
  double embed_scale = 1, residual_scale = 1, logit_divisor = 1, logit_softcap = 0;
  const char *mixer_name = "self_attn", *feed_name = "mlp";
  std::function<std::shared_ptr<Mixer>(int64_t layer, nn::Options)> mixer;         // empty, or null of a layer: an Attention
  std::function<std::shared_ptr<nn::Module>(int64_t layer, nn::Options)> feed;     // empty: a GatedMlp
  std::function<std::shared_ptr<DecoderLayer>(int64_t layer, nn::Options)> layer;  // empty: of the parts above
};

class Decoder : public CausalLM {
 public:
  Decoder(const std::string& config, Plan plan, nn::Options options);
  const char* kind() const override { return "Decoder"; }
  int64_t vocab_size() const override { return body_.embed.weight.size(0); }

 protected:
  int64_t turning_point() const override;
  Tensor hidden(const Tensor& ids, const ForwardOptions& options) override;
  Tensor head(const Tensor& hidden) override;
  std::vector<nn::Module*> tables_of_tokens() override;
  // Before the layers run. x: the tokens' embeddings [B, T, width]; ids are undefined where those were given.
  virtual void begin(const Tensor& /*ids*/, const Tensor& /*x*/, Pass& /*pass*/) {}
  nn::Module& body() { return body_; }

 private:
  struct Body : nn::Module {
    nn::Embedding embed;
    nn::ModuleList<DecoderLayer> layers;
    RmsNorm norm;
    Body(const Plan& p, nn::Options o);
    const char* kind() const override { return "DecoderBody"; }
  };
  Plan plan_;
  Body body_;
  std::unique_ptr<nn::Linear> head_;  // none: the embedding's weight
};

// What all of them say in the same words. Families change it from there.
// head_dim: 0 is hidden_size / num_attention_heads; a config.json's own is taken first.
Plan common_plan(const Config& c, int64_t head_dim = 0);

// A family of models: its file's words for itself, and its module.
struct Family {
  const char* type;  // model_type
  std::shared_ptr<CausalLM> (*make)(const std::string& config, const Config& c, nn::Options options);
};
template <Plan (*plan)(const Config&)>
std::shared_ptr<CausalLM> make_with(const std::string& config, const Config& c, nn::Options options) {
  return std::make_shared<Decoder>(config, plan(c), options);
}

}  // namespace dyadic::inline v1::models
