// Qwen3.5, with experts and without.
#include "models/gguf/keys.h"
#include "models/gguf/tables.h"

namespace dyadic::inline v1::models {
namespace {

const Names kState{{"attn_qkv", "linear_attn.in_proj_qkv", &state_rows},
                   {"attn_gate", "linear_attn.in_proj_z", &value_rows},
                   {"ssm_beta", "linear_attn.in_proj_b", &value_numbers},
                   {"ssm_alpha", "linear_attn.in_proj_a", &value_numbers},
                   {"ssm_out", "linear_attn.out_proj", &value_columns},
                   {"ssm_conv1d", "linear_attn.conv1d", &state_kernel},
                   {"ssm_norm", "linear_attn.norm"},
                   {.gguf = "ssm_a", .own = "linear_attn.A_log", .form = &minus_exp, .complete = true},
                   {.gguf = "ssm_dt.bias", .own = "linear_attn.dt_bias", .form = &value_numbers, .complete = true}};
// Files have experts one by one or stacked.
const Names kStackedExperts{{.gguf = "ffn_gate_exps.weight",
                             .own = "mlp.experts.gate_up_proj",
                             .form = &gate_above_up,
                             .pair = "ffn_up_exps.weight",
                             .complete = true},
                            {.gguf = "ffn_down_exps.weight", .own = "mlp.experts.down_proj", .complete = true}};
const Names kQwen35Norms{{"attn_norm", "input_layernorm"}, {"post_attention_norm", "post_attention_layernorm"}};
const Names kQwen35 = with_shifted(kQwen35Norms + kHeadNorms) + kAttention + kState + kMlp;

const Keys kStateKeys{{"ssm.conv_kernel", "linear_conv_kernel_dim"},
                      {"ssm.state_size", "linear_key_head_dim"},
                      {"ssm.group_count", "linear_num_key_heads"},
                      {"ssm.time_step_rank", "linear_num_value_heads"},
                      {"full_attention_interval", "full_attention_interval"}};

void put_state(KeyWriter& w, const Config& given) {
  Config c = given;
  c.usually("linear_conv_kernel_dim", 4).usually("linear_key_head_dim", 128).usually("linear_num_key_heads", 16);
  c.usually("linear_num_value_heads", 32).usually("full_attention_interval", 4).usually("partial_rotary_factor", 0.25);
  for (const KeyName& k : kStateKeys) w.whole(k.gguf, c.size(k.own));
  w.whole("ssm.inner_size", c.size("linear_num_value_heads") * c.size("linear_value_head_dim", 128));
  const int64_t layers = c.integer("num_hidden_layers"), head_dim = c.size("head_dim", 256);
  if (const std::vector<std::string> types = c.layer_types(layers, "linear_attention"); !types.empty()) {
    std::vector<bool> keep_state;
    for (const std::string& type : types) keep_state.push_back(type == "linear_attention");
    w.put("attention.recurrent_layers", io::GgufArray(keep_state));
  }
  const json rope = c.rope();
  w.whole("rope.dimension_count", int64_t(double(head_dim) * real_of(rope, "partial_rotary_factor")));
  // Which pairs turn with time, height and width of a picture; a text's three are one.
  std::vector<int64_t> parts = integers_of(rope, "mrope_section");
  if (parts.empty()) parts = {11, 11, 10};
  parts.resize(4);
  w.put("rope.dimension_sections", io::GgufArray(std::vector<int32_t>(parts.begin(), parts.end())));
}
void put_moe(KeyWriter& w, const Config& c) {
  put_state(w, c);
  if (!c.has("intermediate_size")) w.whole("feed_forward_length", c.size("moe_intermediate_size", 512));
}

void take_state(json& c, const KeyReader& r) {
  const auto layers = c["num_hidden_layers"].get<int64_t>();
  const int64_t heads = r.whole("ssm.time_step_rank");
  c["linear_value_head_dim"] = heads ? r.whole("ssm.inner_size") / heads : 0;
  const int64_t every = std::max<int64_t>(r.whole("full_attention_interval", 4), 1);
  const bool listed = r.has("attention.recurrent_layers");
  const std::vector<int64_t> keep = listed ? r.by_layer("attention.recurrent_layers", layers) : std::vector<int64_t>{};
  json types = json::array();
  for (int64_t i = 0; i < layers; ++i)
    types.push_back((listed ? keep[size_t(i)] != 0 : (i + 1) % every != 0) ? "linear_attention" : "full_attention");
  c["layer_types"] = types;
  if (r.has_list("rope.dimension_sections"))
    c["rope_parameters"]["mrope_section"] = r.by_layer("rope.dimension_sections", 3),
    c["rope_parameters"]["mrope_interleaved"] = true;
}

}  // namespace

Architecture qwen35_architecture() {
  return {.name = "qwen35",
          .families = {{"qwen3_5_text", "Qwen3_5ForCausalLM"}, {"qwen3_5", "Qwen3_5ForConditionalGeneration"}},
          .layers = kLayers,
          .whole = with_shifted(kWhole),
          .layer = kQwen35,
          .keys = kKeys + kStateKeys,
          .head_dim = 256,
          .put = put_state,
          .take = take_state};
}
Architecture qwen35moe_architecture() {
  return {.name = "qwen35moe",
          .families = {{"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"}, {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"}},
          .layers = kLayers,
          .whole = with_shifted(kWhole),
          .layer = kQwen35 + kQwenExperts + kStackedExperts + kSharedExpert,
          .keys = kKeys + kQwenMoe + kStateKeys,
          .head_dim = 256,
          .put = put_moe,
          .take = take_state};
}

}  // namespace dyadic::inline v1::models
