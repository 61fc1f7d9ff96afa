// Tables that several architectures share.
#pragma once
#include "models/gguf/architectures.h"

namespace dyadic::inline v1::models {

using Names = std::vector<TensorName>;

inline Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Some tensors are stored in another way.
inline Names with(Names names, std::string_view own_ends_with, const Form& form) {
  for (TensorName& n : names)
    if (std::string_view(n.own).ends_with(own_ends_with)) n.form = &form;
  return names;
}

inline const Names kWhole{{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
inline const Names kAttention{{"attn_q", "self_attn.q_proj"},
                              {"attn_k", "self_attn.k_proj"},
                              {"attn_v", "self_attn.v_proj"},
                              {"attn_output", "self_attn.o_proj"}};
inline const Names kHeadNorms{{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
inline const Names kMlp{{"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
inline const Names kNormsBefore{{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"}};
inline const Names kNormsAfter{{"post_attention_norm", "post_attention_layernorm"},
                               {"post_ffw_norm", "post_feedforward_layernorm"}};
inline const Names kNormsAround =
    Names{{"attn_norm", "input_layernorm"}, {"ffn_norm", "pre_feedforward_layernorm"}} + kNormsAfter;

inline const Names kPlain = kNormsBefore + kAttention + kMlp;
inline const Names kInterleaved = with(with(kAttention, "q_proj", query_rows), "k_proj", key_rows);
inline const Names kLlama = kNormsBefore + kInterleaved + kMlp;
inline const Names kMixtral{{"ffn_gate_inp", "block_sparse_moe.gate"},
                            {"ffn_gate_exps", "block_sparse_moe.experts.*.w1"},
                            {"ffn_down_exps", "block_sparse_moe.experts.*.w2"},
                            {"ffn_up_exps", "block_sparse_moe.experts.*.w3"}};
inline const Names kGraniteExperts{{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                   {"ffn_gate_exps", "block_sparse_moe.input_linear", &gate_above_up, "ffn_up_exps"},
                                   {"ffn_down_exps", "block_sparse_moe.output_linear"}};
inline const Names kQwenExperts{{"ffn_gate_inp", "mlp.gate"},
                                {"ffn_gate_exps", "mlp.experts.*.gate_proj"},
                                {"ffn_down_exps", "mlp.experts.*.down_proj"},
                                {"ffn_up_exps", "mlp.experts.*.up_proj"}};
inline const Names kSharedExpert{{"ffn_gate_inp_shexp", "mlp.shared_expert_gate", &row},
                                 {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                 {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
                                 {"ffn_up_shexp", "mlp.shared_expert.up_proj"}};
inline const Names kPhi3 = kNormsBefore + Names{{"attn_qkv", "self_attn.qkv_proj"},
                                                {"attn_output", "self_attn.o_proj"},
                                                {"ffn_up", "mlp.gate_up_proj"},
                                                {"ffn_down", "mlp.down_proj"}};
inline const Names kGptOss = Names{{"attn_norm", "input_layernorm"}, {"post_attention_norm", "post_attention_layernorm"}} +
                             kAttention +
                             Names{{"attn_sinks", "self_attn.sinks", nullptr, nullptr, "", nullptr},
                                   {"ffn_gate_inp", "mlp.router"},
                                   {"ffn_gate_exps", "mlp.experts.gate_up_proj", &even_odd, "ffn_up_exps", "", "_bias"},
                                   {"ffn_down_exps", "mlp.experts.down_proj", &turned, nullptr, "", "_bias"}};
inline const Names kGpt2Whole{
    {"token_embd", "transformer.wte"}, {"position_embd", "transformer.wpe"}, {"output_norm", "transformer.ln_f"}};
inline const Names kGpt2{{"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn", &turned}, {"attn_output", "attn.c_proj", &turned},
                         {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc", &turned},      {"ffn_down", "mlp.c_proj", &turned}};

inline Names with_shifted(const Names& names) { return with(names, "norm", shifted); }

using Keys = std::vector<KeyName>;
inline Keys operator+(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline const Keys kKeys{{"context_length", "max_position_embeddings"},
                        {"embedding_length", "hidden_size"},
                        {"block_count", "num_hidden_layers"},
                        {"feed_forward_length", "intermediate_size"},
                        {"attention.head_count", "num_attention_heads"},
                        {"attention.head_count_kv", "num_key_value_heads"},
                        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KeyType::real}};
inline const Keys kWindow{{"attention.sliding_window", "sliding_window"}};
inline const Keys kExperts{{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"}};
inline const Keys kQwenMoe{{"expert_count", "num_experts"},
                           {"expert_used_count", "num_experts_per_tok"},
                           {"expert_feed_forward_length", "moe_intermediate_size"},
                           {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}};
inline const Keys kCaps{{"attn_logit_softcapping", "attn_logit_softcapping", KeyType::real},
                        {"final_logit_softcapping", "final_logit_softcapping", KeyType::real}};
inline const Keys kGranite{{"attention.scale", "attention_multiplier", KeyType::real},
                           {"embedding_scale", "embedding_multiplier", KeyType::real},
                           {"residual_scale", "residual_multiplier", KeyType::real},
                           {"logit_scale", "logits_scaling", KeyType::real}};
inline const Keys kGpt2Keys{
    {"context_length", "n_positions"},  {"embedding_length", "n_embd"},
    {"block_count", "n_layer"},         {"feed_forward_length", "n_inner"},
    {"attention.head_count", "n_head"}, {"attention.layer_norm_epsilon", "layer_norm_epsilon", KeyType::real}};

inline constexpr char kLayers[] = "model.layers.";

// One file each.
Architecture qwen35_architecture();
Architecture qwen35moe_architecture();
Architecture gemma4_architecture();
Architecture deepseek2_architecture();
Architecture bert_architecture();

}  // namespace dyadic::inline v1::models
