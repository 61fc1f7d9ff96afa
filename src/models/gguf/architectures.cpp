#include "models/gguf/architectures.h"

#include <cstdint>

namespace dyadic::inline v1::models {
namespace {

using Names = std::vector<TensorName>;

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Some tensors are stored in another way.
Names with(Names names, std::string_view own_ends_with, Stored stored) {
  for (TensorName& n : names)
    if (std::string_view(n.own).ends_with(own_ends_with)) n.stored = stored;
  return names;
}

const Names kWhole{{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
const Names kAttention{{"attn_q", "self_attn.q_proj"},
                       {"attn_k", "self_attn.k_proj"},
                       {"attn_v", "self_attn.v_proj"},
                       {"attn_output", "self_attn.o_proj"}};
const Names kHeadNorms{{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
const Names kMlp{{"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
const Names kNormsBefore{{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"}};
const Names kNormsAfter{{"post_attention_norm", "post_attention_layernorm"}, {"post_ffw_norm", "post_feedforward_layernorm"}};
const Names kNormsAround = Names{{"attn_norm", "input_layernorm"}, {"ffn_norm", "pre_feedforward_layernorm"}} + kNormsAfter;

const Names kPlain = kNormsBefore + kAttention + kMlp;
const Names kInterleaved = with(with(kAttention, "q_proj", Stored::query_rows), "k_proj", Stored::key_rows);
const Names kLlama = kNormsBefore + kInterleaved + kMlp;
const Names kMixtral{{"ffn_gate_inp", "block_sparse_moe.gate"},
                     {"ffn_gate_exps", "block_sparse_moe.experts.*.w1", Stored::experts},
                     {"ffn_down_exps", "block_sparse_moe.experts.*.w2", Stored::experts},
                     {"ffn_up_exps", "block_sparse_moe.experts.*.w3", Stored::experts}};
const Names kQwenExperts{{"ffn_gate_inp", "mlp.gate"},
                         {"ffn_gate_exps", "mlp.experts.*.gate_proj", Stored::experts},
                         {"ffn_down_exps", "mlp.experts.*.down_proj", Stored::experts},
                         {"ffn_up_exps", "mlp.experts.*.up_proj", Stored::experts}};
const Names kSharedExpert{{"ffn_gate_inp_shexp", "mlp.shared_expert_gate", Stored::row},
                          {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                          {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
                          {"ffn_up_shexp", "mlp.shared_expert.up_proj"}};
const Names kPhi3 = kNormsBefore + Names{{"attn_qkv", "self_attn.qkv_proj"},
                                         {"attn_output", "self_attn.o_proj"},
                                         {"ffn_up", "mlp.gate_up_proj"},
                                         {"ffn_down", "mlp.down_proj"}};
const Names kGptOss = Names{{"attn_norm", "input_layernorm"}, {"post_attention_norm", "post_attention_layernorm"}} +
                      kAttention +
                      Names{{"attn_sinks", "self_attn.sinks", Stored::plain, "", nullptr},
                            {"ffn_gate_inp", "mlp.router"},
                            {"ffn_gate_exps", "mlp.experts.gate_up_proj", Stored::even_odd, "", "_bias", "ffn_up_exps"},
                            {"ffn_down_exps", "mlp.experts.down_proj", Stored::turned, "", "_bias"}};
const Names kGpt2Whole{
    {"token_embd", "transformer.wte"}, {"position_embd", "transformer.wpe"}, {"output_norm", "transformer.ln_f"}};
const Names kGpt2{
    {"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn", Stored::turned}, {"attn_output", "attn.c_proj", Stored::turned},
    {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc", Stored::turned},      {"ffn_down", "mlp.c_proj", Stored::turned}};

Names shifted(const Names& names) { return with(names, "norm", Stored::shifted); }

using Keys = std::vector<KeyName>;
Keys operator+(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const Keys kKeys{{"context_length", "max_position_embeddings"},
                 {"embedding_length", "hidden_size"},
                 {"block_count", "num_hidden_layers"},
                 {"feed_forward_length", "intermediate_size"},
                 {"attention.head_count", "num_attention_heads"},
                 {"attention.head_count_kv", "num_key_value_heads"},
                 {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KeyType::real}};
const Keys kWindow{{"attention.sliding_window", "sliding_window"}};
const Keys kExperts{{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"}};
const Keys kQwenMoe{{"expert_count", "num_experts"},
                    {"expert_used_count", "num_experts_per_tok"},
                    {"expert_feed_forward_length", "moe_intermediate_size"},
                    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}};
const Keys kCaps{{"attn_logit_softcapping", "attn_logit_softcapping", KeyType::real},
                 {"final_logit_softcapping", "final_logit_softcapping", KeyType::real}};
const Keys kGranite{{"attention.scale", "attention_multiplier", KeyType::real},
                    {"embedding_scale", "embedding_multiplier", KeyType::real},
                    {"residual_scale", "residual_multiplier", KeyType::real},
                    {"logit_scale", "logits_scaling", KeyType::real}};
const Keys kGpt2Keys{{"context_length", "n_positions"},  {"embedding_length", "n_embd"},
                     {"block_count", "n_layer"},         {"feed_forward_length", "n_inner"},
                     {"attention.head_count", "n_head"}, {"attention.layer_norm_epsilon", "layer_norm_epsilon", KeyType::real}};

const char kLayers[] = "model.layers.";

}  // namespace

std::span<const Architecture> architectures() {
  static const std::vector<Architecture> all{
      {.name = "llama",
       .families = {{"llama", "LlamaForCausalLM"}, {"mistral", "MistralForCausalLM"}, {"mixtral", "MixtralForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kLlama + kMixtral,
       .keys = kKeys + kExperts},
      {.name = "mistral3",
       .families = {{"ministral3", "Ministral3ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kLlama,
       .keys = kKeys},
      {.name = "smollm3",
       .families = {{"smollm3", "SmolLM3ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kLlama,
       .keys = kKeys},
      {.name = "granite",
       .families = {{"granite", "GraniteForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kLlama,
       .keys = kKeys + kGranite},
      {.name = "qwen2",
       .families = {{"qwen2", "Qwen2ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kPlain,
       .keys = kKeys},
      {.name = "qwen2moe",
       .families = {{"qwen2_moe", "Qwen2MoeForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kPlain + kQwenExperts + kSharedExpert,
       .keys = kKeys + kQwenMoe},
      {.name = "qwen3",
       .families = {{"qwen3", "Qwen3ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kPlain + kHeadNorms,
       .keys = kKeys,
       .head_dim = 128},
      {.name = "qwen3moe",
       .families = {{"qwen3_moe", "Qwen3MoeForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kPlain + kHeadNorms + kQwenExperts,
       .keys = kKeys + kQwenMoe},
      {.name = "gemma",
       .families = {{"gemma", "GemmaForCausalLM"}},
       .layers = kLayers,
       .whole = shifted(kWhole),
       .layer = shifted(kPlain),
       .keys = kKeys,
       .head_dim = 256,
       .tied = true},
      {.name = "gemma2",
       .families = {{"gemma2", "Gemma2ForCausalLM"}},
       .layers = kLayers,
       .whole = shifted(kWhole),
       .layer = shifted(kNormsAround + kAttention + kMlp),
       .keys = kKeys + kWindow + kCaps,
       .head_dim = 256,
       .every = 2,
       .tied = true},
      {.name = "gemma3",
       .families = {{"gemma3_text", "Gemma3ForCausalLM"}, {"gemma3", "Gemma3ForConditionalGeneration"}},
       .layers = kLayers,
       .whole = shifted(kWhole),
       .layer = shifted(kNormsAround + kAttention + kHeadNorms + kMlp),
       .keys = kKeys + kWindow + kCaps,
       .head_dim = 256,
       .every = 6,
       .own_rope = true,
       .tied = true},
      {.name = "phi3",
       .families = {{"phi3", "Phi3ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kPhi3,
       .keys = kKeys + kWindow,
       .eps = 1e-5},
      {.name = "gpt-oss",
       .families = {{"gpt_oss", "GptOssForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kGptOss,
       .keys = kKeys + kWindow + kExperts,
       .eps = 1e-5,
       .head_dim = 64,
       .every = 2},
      {.name = "olmo2",
       .families = {{"olmo2", "Olmo2ForCausalLM"}, {"olmo3", "Olmo3ForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kNormsAfter + kAttention + kHeadNorms + kMlp,
       .keys = kKeys + kWindow,
       .eps = 1e-5,
       .every = 4,
       .own_rope = true},
      {.name = "gpt2",
       .families = {{"gpt2", "GPT2LMHeadModel"}},
       .layers = "transformer.h.",
       .whole = kGpt2Whole,
       .layer = kGpt2,
       .keys = kGpt2Keys,
       .eps = 1e-5,
       .tied = true},
  };
  return all;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& a : architectures())
    if (name == a.name) return &a;
  return nullptr;
}
const Architecture* find_architecture_of(const std::string& model_type) {
  for (const Architecture& a : architectures())
    for (const FamilyName& f : a.families)
      if (model_type == f.type) return &a;
  return nullptr;
}

}  // namespace dyadic::inline v1::models
