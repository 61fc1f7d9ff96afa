// BERT, whose heads (of masked words, of sentences) GGUF has no place for.
#include "models/gguf/keys.h"
#include "models/gguf/tables.h"

namespace dyadic::inline v1::models {
namespace {

const Names kBertWhole{{"token_embd", "embeddings.word_embeddings"},
                       {"position_embd", "embeddings.position_embeddings"},
                       {"token_types", "embeddings.token_type_embeddings"},
                       {"token_embd_norm", "embeddings.LayerNorm"}};
const Names kBertLayer{{"attn_q", "attention.self.query"},
                       {"attn_k", "attention.self.key"},
                       {"attn_v", "attention.self.value"},
                       {"attn_output", "attention.output.dense"},
                       {"attn_output_norm", "attention.output.LayerNorm"},
                       {"ffn_up", "intermediate.dense"},
                       {"ffn_down", "output.dense"},
                       {"layer_output_norm", "output.LayerNorm"}};

void put_bert(KeyWriter& w, const Config& c) {
  w.whole("context_length", c.size("max_position_embeddings", 512));
  w.whole("embedding_length", c.size("hidden_size", 768));
  w.whole("block_count", c.integer("num_hidden_layers", 12));
  w.whole("feed_forward_length", c.size("intermediate_size", 3072));
  w.whole("attention.head_count", c.size("num_attention_heads", 12));
  w.whole("attention.head_count_kv", c.size("num_attention_heads", 12));
  w.real("attention.layer_norm_epsilon", c.real("layer_norm_eps", 1e-12));
  w.whole("vocab_size", c.size("vocab_size", 30522));
  w.put("attention.causal", false);
  w.keys.emplace_back("tokenizer.ggml.token_type_count", uint32_t(c.size("type_vocab_size", 2)));
}

void take_bert(json& c, const KeyReader& r) {
  c["hidden_act"] = "gelu";
  const std::vector<int64_t>& types = r.tensor("token_types.weight").shape;
  c["type_vocab_size"] = types.empty() ? 0 : types[0];
}

}  // namespace

Architecture bert_architecture() {
  return {.name = "bert",
          .families = {{"bert", "BertModel"}},
          .layers = "encoder.layer.",
          .whole = kBertWhole,
          .layer = kBertLayer,
          .keys = {{"context_length", "max_position_embeddings"},
                   {"embedding_length", "hidden_size"},
                   {"block_count", "num_hidden_layers"},
                   {"feed_forward_length", "intermediate_size"},
                   {"attention.head_count", "num_attention_heads"},
                   {"attention.layer_norm_epsilon", "layer_norm_eps", KeyType::real}},
          .body = "",
          .decoder = false,
          .headless = true,
          .put = put_bert,
          .take = take_bert};
}

}  // namespace dyadic::inline v1::models
