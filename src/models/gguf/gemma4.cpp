// Gemma 4: sizes that differ by layer are lists, and the pairs that are not turned a tensor of divisors.
#include "dyadic/ops.h"
#include "models/gguf/keys.h"
#include "models/gguf/tables.h"

namespace dyadic::inline v1::models {
namespace {

constexpr float kNever = 1e30f;  // the divisor of what stands still

const Names kGemma4Whole{{"per_layer_token_embd", "model.embed_tokens_per_layer"},
                         {"per_layer_model_proj", "model.per_layer_model_projection"},
                         {"per_layer_proj_norm", "model.per_layer_projection_norm"}};
const Names kGemma4{{.gguf = "layer_output_scale.weight", .own = "layer_scalar", .complete = true},
                    {"inp_gate", "per_layer_input_gate"},
                    {"proj", "per_layer_projection"},
                    {"post_norm", "post_per_layer_input_norm"}};
const Names kGemma4Experts{{"ffn_gate_inp", "router.proj"},
                           {.gguf = "ffn_gate_inp.scale", .own = "router.scale", .complete = true},
                           {.gguf = "ffn_down_exps.scale", .own = "router.per_expert_scale", .complete = true},
                           {.gguf = "ffn_gate_up_exps.weight", .own = "experts.gate_up_proj", .complete = true},
                           {.gguf = "ffn_gate_exps.weight",  // other writers' way
                            .own = "experts.gate_up_proj",
                            .form = &gate_above_up,
                            .pair = "ffn_up_exps.weight",
                            .complete = true},
                           {.gguf = "ffn_down_exps.weight", .own = "experts.down_proj", .complete = true},
                           {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                           {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
                           {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"}};

const Keys kGemma4Keys{{"attention.sliding_window", "sliding_window"},
                       {"attention.shared_kv_layers", "num_kv_shared_layers"},
                       {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
                       {"final_logit_softcapping", "final_logit_softcapping", KeyType::real},
                       {"attention.key_length_swa", "head_dim"},
                       {"expert_count", "num_experts"},
                       {"expert_used_count", "top_k_experts"},
                       {"expert_feed_forward_length", "moe_intermediate_size"}};

struct Layers {
  std::vector<bool> windows;
  int64_t head_dim, far_head_dim, kv_heads, far_kv_heads;  // far: of layers that see all
  bool one_key_value;
  explicit Layers(const Config& c) {
    const int64_t layers = c.integer("num_hidden_layers");
    const std::vector<std::string> types = c.layer_types(layers);
    head_dim = c.size("head_dim", 256), kv_heads = c.size("num_key_value_heads", c.size("num_attention_heads"));
    one_key_value = c.flag("attention_k_eq_v", false);
    far_head_dim = c.size("global_head_dim", 512);
    far_kv_heads = one_key_value ? c.size("num_global_key_value_heads", kv_heads) : kv_heads;
    for (int64_t i = 0; i < layers; ++i) {
      windows.push_back(types.empty() ? (i + 1) % 6 != 0 && i + 1 < layers : types[size_t(i)] == "sliding_attention");
      if (windows.back() || !c.has("per_layer_config")) continue;
      const json& all = c.at("per_layer_config");
      const json own = all.value(std::to_string(i), json::object());
      far_head_dim = own.value("head_dim", head_dim), far_kv_heads = own.value("num_key_value_heads", kv_heads);
    }
  }
};
json far_rope(const Config& c) {
  json rope = c.rope("full_attention", "rope_theta", 1e6);
  if (!c.has("rope_parameters")) rope["rope_type"] = "proportional", rope["partial_rotary_factor"] = 0.25;
  return rope;
}

void put_gemma4(KeyWriter& w, const Config& given) {
  Config c = given;
  c.usually("vocab_size", 262144).usually("max_position_embeddings", 131072).usually("sliding_window", 512);
  c.usually("num_kv_shared_layers", 0).usually("hidden_size_per_layer_input", 256).usually("head_dim", 256);
  for (const KeyName& k : kGemma4Keys)
    if (k.type == KeyType::whole && c.has(k.own)) w.whole(k.gguf, c.integer(k.own));
  const Layers l(c);
  const int64_t hidden = c.size("intermediate_size"), borrowing = c.integer("num_kv_shared_layers");
  std::vector<int32_t> kv_heads, hidden_sizes;
  for (size_t i = 0; i < l.windows.size(); ++i) {
    kv_heads.push_back(int32_t(l.windows[i] ? l.kv_heads : l.far_kv_heads));
    hidden_sizes.push_back(int32_t(int64_t(i) < int64_t(l.windows.size()) - borrowing ? hidden : 2 * hidden));
  }
  if (l.kv_heads != l.far_kv_heads) w.put("attention.head_count_kv", io::GgufArray(kv_heads));
  if (c.flag("use_double_wide_mlp", false)) w.put("feed_forward_length", io::GgufArray(hidden_sizes));
  w.put("attention.sliding_window_pattern", io::GgufArray(l.windows));
  w.whole("attention.key_length", l.far_head_dim), w.whole("attention.value_length", l.far_head_dim);
  w.whole("attention.key_length_swa", l.head_dim), w.whole("attention.value_length_swa", l.head_dim);
  w.whole("rope.dimension_count", l.far_head_dim), w.whole("rope.dimension_count_swa", l.head_dim);
  w.real("rope.freq_base", real_of(far_rope(c), "rope_theta"));
  w.real("rope.freq_base_swa", real_of(c.rope("sliding_attention", "rope_local_base_freq", 1e4), "rope_theta"));
}

io::NamedTensors divisors(const Config& c) {
  const int64_t pairs = Layers(c).far_head_dim / 2;
  const auto turned = int64_t(double(2 * pairs) * real_of(far_rope(c), "partial_rotary_factor") / 2);
  std::vector<float> all(size_t(pairs), kNever);
  std::fill_n(all.begin(), std::clamp<int64_t>(turned, 0, pairs), 1.0f);
  return {{"rope_freqs.weight", from_data(all.data(), {pairs}, f32)}};
}

void take_gemma4(json& c, const KeyReader& r) {
  const auto layers = c["num_hidden_layers"].get<int64_t>();
  const int64_t far_dim = r.whole("attention.key_length"), dim = r.whole("attention.key_length_swa");
  const std::vector<int64_t> kv_heads = r.by_layer("attention.head_count_kv", layers);
  const std::vector<int64_t> hidden = r.by_layer("feed_forward_length", layers);
  const std::vector<bool> windows = r.windows(layers, 6).value_or(std::vector<bool>(size_t(layers)));
  c["head_dim"] = dim;
  c["intermediate_size"] = hidden.empty() ? 0 : hidden.front();
  c["use_double_wide_mlp"] = !hidden.empty() && hidden.back() != hidden.front();
  c["attention_k_eq_v"] = false;
  json far = json::object();
  for (int64_t i = 0; i < layers; ++i) {
    const bool window = windows[size_t(i)];
    if (window) c["num_key_value_heads"] = kv_heads[size_t(i)];
    if (window) continue;
    far[std::to_string(i)] = {{"head_dim", far_dim}, {"num_key_value_heads", kv_heads[size_t(i)]}};
    const auto has = [&](const char* name) { return r.has_tensor(fmt::format("blk.{}.{}.weight", i, name)); };
    if (has("attn_k") && !has("attn_v")) c["attention_k_eq_v"] = true;
  }
  if (!c.contains("num_key_value_heads")) c["num_key_value_heads"] = kv_heads.empty() ? 0 : kv_heads.front();
  c["per_layer_config"] = far;
  if (r.has_tensor("per_layer_token_embd.weight")) {
    const std::vector<int64_t>& shape = r.tensor("per_layer_token_embd.weight").shape;
    c["vocab_size_per_layer_input"] = shape.empty() ? 0 : shape[0];
  }
  c["enable_moe_block"] = r.whole("expert_count", 0) > 0;
  c["layer_types"] = json::array();
  for (const bool w : windows) c["layer_types"].push_back(w ? "sliding_attention" : "full_attention");
  double turned = 1;
  if (r.has_tensor("rope_freqs.weight")) {
    const json all = r.numbers_of_tensor("rope_freqs.weight");
    const auto n = std::ranges::count_if(all, [](const json& v) { return v.get<double>() < kNever / 2; });
    turned = all.empty() ? 1 : double(n) / double(all.size());
  }
  c["rope_parameters"] = {
      {"full_attention",
       {{"rope_type", "proportional"}, {"partial_rotary_factor", turned}, {"rope_theta", r.real("rope.freq_base", 1e6)}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", r.real("rope.freq_base_swa", 1e4)}}}};
}

}  // namespace

Architecture gemma4_architecture() {
  return {.name = "gemma4",
          .families = {{"gemma4_text", "Gemma4ForCausalLM"}, {"gemma4", "Gemma4ForConditionalGeneration"}},
          .layers = kLayers,
          .whole = kWhole + kGemma4Whole,
          .layer = kNormsAround + kAttention + kHeadNorms + kMlp + kGemma4 + kGemma4Experts,
          .keys = kKeys + kGemma4Keys,
          .head_dim = 256,
          .tied = true,
          .put = put_gemma4,
          .take = take_gemma4,
          .made = divisors};
}

}  // namespace dyadic::inline v1::models
