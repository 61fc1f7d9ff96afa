// BERT (Devlin et al. 2019): an encoder, whose tokens see each other, norms after each part. With its head (BertForMaskedLM) it
// gives logits of what stands at each token's place, without (BertModel) the last layer's [B, T, width].
#include <cmath>

#include "dyadic/ops_nn.h"
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

struct BertShape {
  int64_t vocab, width, heads, layers, hidden, longest, types;
  double eps;
  std::string activation;
};

// Modules that others are parts of, for their names' sake.
struct Group : nn::Module {
  const char* kind() const override { return "BertPart"; }
};

class BertLayer : public nn::Module {
 public:
  BertLayer(const BertShape& s, nn::Options o)
      : heads_(s.heads),
        activation_(s.activation),
        query_(s.width, s.width, true, o),
        key_(s.width, s.width, true, o),
        value_(s.width, s.width, true, o),
        out_(s.width, s.width, true, o),
        up_(s.width, s.hidden, true, o),
        down_(s.hidden, s.width, true, o),
        attention_norm_({s.width}, s.eps, true, true, o),
        norm_({s.width}, s.eps, true, true, o) {
    self_.add("query", query_), self_.add("key", key_), self_.add("value", value_);
    attention_out_.add("dense", out_), attention_out_.add("LayerNorm", attention_norm_);
    attention_.add("self", self_), attention_.add("output", attention_out_);
    intermediate_.add("dense", up_), output_.add("dense", down_), output_.add("LayerNorm", norm_);
    add("attention", attention_), add("intermediate", intermediate_), add("output", output_);
  }
  const char* kind() const override { return "BertLayer"; }
  Tensor forward(const Tensor& x) override {
    const Tensor q = split_heads(query_(x), heads_), k = split_heads(key_(x), heads_), v = split_heads(value_(x), heads_);
    const Tensor seen = scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.sizes());
    const Tensor y = attention_norm_(x + out_(seen));
    return norm_(y + down_(activate(activation_, up_(y))));
  }

 private:
  int64_t heads_;
  std::string activation_;
  Group attention_, self_, attention_out_, intermediate_, output_;
  nn::Linear query_, key_, value_, out_, up_, down_;
  nn::LayerNorm attention_norm_, norm_;
};

class Bert : public CausalLM {
 public:
  Bert(const std::string& config, const BertShape& s, bool headed, nn::Options o)
      : CausalLM(config),
        shape_(s),
        headed_(headed),
        tokens_(s.vocab, s.width, o),
        places_(s.longest, s.width, o),
        types_(s.types, s.width, o),
        norm_({s.width}, s.eps, true, true, o),
        dense_(headed ? s.width : 0, headed ? s.width : 0, true, o),
        head_norm_({headed ? s.width : 0}, s.eps, true, true, o),
        head_bias_(nn::make_parameter({headed ? s.vocab : 0}, o)) {
    embeddings_.add("word_embeddings", tokens_), embeddings_.add("position_embeddings", places_);
    embeddings_.add("token_type_embeddings", types_), embeddings_.add("LayerNorm", norm_);
    for (int64_t i = 0; i < s.layers; ++i) layers_.append(std::make_shared<BertLayer>(s, o));
    encoder_.add("layer", layers_);
    nn::Module& root = headed ? static_cast<nn::Module&>(body_) : *this;
    root.add("embeddings", embeddings_), root.add("encoder", encoder_);
    if (!headed) return;
    transform_.add("dense", dense_), transform_.add("LayerNorm", head_norm_);
    predictions_.add_parameter("bias", head_bias_), predictions_.add("transform", transform_);
    head_.add("predictions", predictions_);
    add("bert", body_), add("cls", head_);
  }
  const char* kind() const override { return "Bert"; }
  int64_t most_tokens() const override { return shape_.longest; }

 protected:
  Tensor hidden(const Tensor& ids, const ForwardOptions& o) override {
    DY_CHECK_AS(ValueError, !o.cache && !o.pad.defined(),
                "Bert: its tokens see what follows: it reads whole texts, unpadded, and goes on with none");
    const int64_t T = ids.size(1);
    DY_CHECK_AS(ValueError, T <= shape_.longest, "Bert: {} tokens, and the model has {} positions (max_position_embeddings)", T,
                shape_.longest);
    const DType dtype = norm_.weight.dtype();
    const Tensor places = arange(int64_t(0), T, int64_t(1), i64, ids.device());
    const auto rows = [&](nn::Embedding& table, const Tensor& at) { return table(at).to(dtype); };
    const Tensor words = o.embeddings.defined() ? o.embeddings.to(dtype) : rows(tokens_, ids);
    const Tensor types = o.token_types.defined() ? o.token_types : zeros_like(ids);
    Tensor x = norm_(words + rows(types_, types) + rows(places_, places));
    const auto tell = [&] {
      if (o.hidden_states) o.hidden_states->push_back(x);
    };
    for (BertLayer* layer : layers_) {
      tell();
      x = (*layer)(x);
    }
    tell();
    return x;
  }
  Tensor head(const Tensor& x) override {
    return headed_ ? linear(head_norm_(activate(shape_.activation, dense_(x))), tokens_.weight, head_bias_) : x;
  }

 private:
  BertShape shape_;
  bool headed_;
  Group body_, embeddings_, encoder_, head_, predictions_, transform_;
  nn::Embedding tokens_, places_, types_;
  nn::LayerNorm norm_;
  nn::ModuleList<BertLayer> layers_;
  nn::Linear dense_;
  nn::LayerNorm head_norm_;
  Tensor head_bias_;
};

std::shared_ptr<CausalLM> make_bert(const std::string& config, const Config& c, nn::Options options) {
  const BertShape s{.vocab = c.size("vocab_size", 30522),
                    .width = c.size("hidden_size", 768),
                    .heads = c.size("num_attention_heads", 12),
                    .layers = c.integer("num_hidden_layers", 12),
                    .hidden = c.size("intermediate_size", 3072),
                    .longest = c.size("max_position_embeddings", 512),
                    .types = c.size("type_vocab_size", 2),
                    .eps = c.real("layer_norm_eps", 1e-12),
                    .activation = c.word("hidden_act", "gelu")};
  check_activation(s.activation);
  c.check_modules(s.layers, 1, "attention");
  DY_CHECK_AS(ValueError, s.width % s.heads == 0, "config.json: hidden_size {} is no multiple of num_attention_heads {}",
              s.width, s.heads);
  const json names = c.has("architectures") ? c.at("architectures") : json::array();
  const std::string name = names.is_array() && names.size() == 1 && names[0].is_string() ? names[0].get<std::string>() : "";
  const bool headed = name == "BertForMaskedLM" || name == "BertForPreTraining";
  DY_CHECK_AS(ValueError, headed || name == "BertModel",
              "config.json: architectures: \"{}\" is none of BertModel, BertForMaskedLM, BertForPreTraining", name);
  DY_CHECK_AS(ValueError, !c.flag("is_decoder", false) && c.word("position_embedding_type", "absolute") == "absolute",
              "config.json: a BERT that is a decoder or has relative positions is not known here");
  return std::make_shared<Bert>(config, s, headed, options);
}

}  // namespace

extern const Family bert{"bert", make_bert};

}  // namespace dyadic::inline v1::models
