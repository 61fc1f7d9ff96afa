// DeepSeek-V3, which GGUF calls deepseek2: keys and values of all heads are one head's there, wider than the heads are.
#include "io/bad_file.h"
#include "models/gguf/keys.h"
#include "models/gguf/tables.h"

namespace dyadic::inline v1::models {
namespace {

constexpr int64_t kSoftmax = 1, kSigmoid = 2;
constexpr double kLogFactor = 0.1;  // llama.cpp's files have this within the multiplier

const Names kLatent{{"attn_q", "self_attn.q_proj"},
                    {"attn_q_a", "self_attn.q_a_proj"},
                    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                    {"attn_q_b", "self_attn.q_b_proj"},
                    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                    {"attn_k_b", "self_attn.kv_b_proj", &unpacked_latent, "attn_v_b"},
                    {"attn_kv_b", "self_attn.kv_b_proj"},  // in files of before 2025
                    {"attn_output", "self_attn.o_proj"}};
const Names kGrouped{{.gguf = "exp_probs_b.bias", .own = "mlp.gate.e_score_correction_bias", .complete = true},
                     {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
                     {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
                     {"ffn_up_shexp", "mlp.shared_experts.up_proj"}};

const Keys kLatentKeys{{"attention.q_lora_rank", "q_lora_rank"},
                       {"attention.kv_lora_rank", "kv_lora_rank"},
                       {"attention.value_length_mla", "v_head_dim"},
                       {"leading_dense_block_count", "first_k_dense_replace"},
                       {"expert_count", "n_routed_experts"},
                       {"expert_used_count", "num_experts_per_tok"},
                       {"expert_group_count", "n_group"},
                       {"expert_group_used_count", "topk_group"},
                       {"expert_shared_count", "n_shared_experts"},
                       {"expert_feed_forward_length", "moe_intermediate_size"},
                       {"expert_weights_scale", "routed_scaling_factor", KeyType::real}};

void put_latent(KeyWriter& w, const Config& given) {
  Config c = given;
  c.usually("kv_lora_rank", 512)
      .usually("v_head_dim", 128)
      .usually("first_k_dense_replace", 3)
      .usually("n_routed_experts", 256);
  c.usually("num_experts_per_tok", 8).usually("n_group", 1).usually("topk_group", 1).usually("n_shared_experts", 1);
  c.usually("routed_scaling_factor", 2.5);
  for (const KeyName& k : kLatentKeys)
    if (k.type == KeyType::real)
      w.real(k.gguf, c.real(k.own));
    else if (c.has(k.own))
      w.whole(k.gguf, c.integer(k.own));
  const int64_t rank = c.size("kv_lora_rank"), turned = c.size("qk_rope_head_dim", 64);
  DY_CHECK_AS(ValueError, c.flag("rope_interleave", true), "GGUF's deepseek2 turns neighbours: rope_interleave is false");
  w.whole("attention.head_count_kv", 1);
  w.whole("attention.key_length", rank + turned), w.whole("attention.value_length", rank);
  w.whole("attention.key_length_mla", c.size("qk_nope_head_dim", 128) + turned);
  w.put("expert_weights_norm", c.flag("norm_topk_prob", true));
  w.whole("expert_gating_func", kSigmoid);
  const json rope = c.rope();
  w.whole("rope.dimension_count", turned);
  if (rope.contains("mscale_all_dim")) w.real("rope.scaling.yarn_log_multiplier", kLogFactor * real_of(rope, "mscale_all_dim"));
}

void take_latent(json& c, const KeyReader& r) {
  const bool biased = r.has_tensor(fmt::format("blk.{}.exp_probs_b.bias", c["num_hidden_layers"].get<int64_t>() - 1));
  if (r.whole("expert_gating_func", biased ? kSigmoid : kSoftmax) != kSigmoid)
    io::bad(r.file().path(),
            "key \"deepseek2.expert_gating_func\": experts that softmax chooses (DeepSeek-V2's) are not known");
  const int64_t turned = r.whole("rope.dimension_count");
  c["head_dim"] = c["qk_rope_head_dim"] = turned;
  c["qk_nope_head_dim"] = r.whole("attention.key_length_mla", r.whole("attention.key_length")) - turned;
  if (!r.has("attention.value_length_mla")) c["v_head_dim"] = r.whole("attention.value_length");
  c["num_key_value_heads"] = c["num_attention_heads"];
  c["norm_topk_prob"] = r.flag("expert_weights_norm", false);
  json& rope = c["rope_parameters"];
  rope.erase("partial_rotary_factor");
  if (rope.contains("mscale_all_dim"))
    rope["mscale"] = rope["mscale_all_dim"] = r.real("rope.scaling.yarn_log_multiplier") / kLogFactor;
}

}  // namespace

Architecture deepseek2_architecture() {
  return {.name = "deepseek2",
          .families = {{"deepseek_v3", "DeepseekV3ForCausalLM"}},
          .layers = kLayers,
          .whole = kWhole,
          .layer = kNormsBefore + kLatent + kMlp + kQwenExperts + kGrouped,
          .keys = kKeys + kLatentKeys,
          .put = put_latent,
          .take = take_latent};
}

}  // namespace dyadic::inline v1::models
