// A GGUF file's keys from config.json.
#include "base/json.h"
#include "base/log.h"
#include "io/bad_file.h"
#include "models/families/families.h"
#include "models/gguf/files.h"
#include "models/gguf/keys.h"
#include "models/rope.h"

namespace dyadic::inline v1::models {
namespace {

using Writer = KeyWriter;

void put_rope(Writer& w, const Config& c, const json& rope, int64_t head_dim) {
  w.whole("rope.dimension_count", int64_t(double(head_dim) * real_of(rope, "partial_rotary_factor", 1)));
  w.real("rope.freq_base", real_of(rope, "rope_theta"));
  const std::string type = rope["rope_type"].get<std::string>();
  const int64_t longest = c.size("max_position_embeddings", 2048);
  const double original = real_of(rope, "original_max_position_embeddings", double(longest));
  const double factor = real_of(rope, "factor", double(longest) / original);
  if (type == "dynamic") warn("GGUF has no key for rope_type dynamic: llama.cpp will not stretch positions");
  if (type != "linear" && type != "yarn" && type != "longrope") return;
  w.text("rope.scaling.type", type);
  if (type != "longrope") w.real("rope.scaling.factor", factor);
  if (type == "linear") return;
  w.whole("rope.scaling.original_context_length", int64_t(original));
  if (type == "longrope") return w.real("rope.scaling.attn_factor", Rope(rope, head_dim, longest).factor());
  w.real("rope.scaling.yarn_beta_fast", real_of(rope, "beta_fast", 32));
  w.real("rope.scaling.yarn_beta_slow", real_of(rope, "beta_slow", 1));
  if (rope.contains("mscale_all_dim")) w.real("rope.scaling.yarn_log_multiplier", real_of(rope, "mscale_all_dim"));
  if (c.model_type() == "ministral3") w.real("attention.temperature_scale", real_of(rope, "llama_4_scaling_beta", 0));
}

void put_windows(Writer& w, const Architecture& a, const Config& c, int64_t layers) {
  const bool has = a.every != 0 && c.model_type() != "olmo2";
  if (!has) return;
  const std::vector<std::string> types = c.layer_types(layers);
  std::vector<bool> windows;
  for (int64_t i = 0; i < layers; ++i)
    windows.push_back(types.empty() ? (i + 1) % a.every != 0 : types[size_t(i)] == "sliding_attention");
  w.whole("attention.sliding_window", c.integer("sliding_window", std::string_view(a.name) == "gpt-oss" ? 128 : 4096));
  w.put("attention.sliding_window_pattern", io::GgufArray(windows));
}

void put_decoder(Writer& w, const Architecture& a, const Config& c) {
  const int64_t layers = c.integer("num_hidden_layers"), heads = c.size("num_attention_heads"), width = c.size("hidden_size");
  const int64_t head_dim = c.size("head_dim", a.head_dim ? a.head_dim : std::max<int64_t>(width / heads, 1));
  w.whole("context_length", c.size("max_position_embeddings", 2048));
  w.whole("attention.head_count_kv", c.size("num_key_value_heads", heads));
  w.whole("attention.key_length", head_dim), w.whole("attention.value_length", head_dim);
  w.real("attention.layer_norm_rms_epsilon", c.real("rms_norm_eps", a.eps));
  w.whole("vocab_size", c.size("vocab_size"));
  const bool gemma = std::string_view(a.name) == "gemma3";
  put_rope(w, c, c.rope("full_attention", "rope_theta", gemma ? 1e6 : 1e4), head_dim);
  if (a.own_rope && c.model_type() != "olmo2") {
    const json own = gemma ? c.rope("sliding_attention", "rope_local_base_freq", 1e4) : c.rope("sliding_attention");
    w.real("rope.freq_base_swa", real_of(own, "rope_theta"));
  }
  put_windows(w, a, c, layers);
  if (c.model_type() == "gpt_oss") w.whole("expert_feed_forward_length", c.size("intermediate_size"));
  if (c.model_type() == "phi3" && !c.has("sliding_window")) w.whole("attention.sliding_window", 0);
}

// What llama.cpp's way of computing does not have, so that it answers otherwise than the model.
void warn_of_losses(const Config& c) {
  const std::string& type = c.model_type();
  const auto lost = [&](const char* what) {
    warn(fmt::format("llama.cpp knows no {} of {}: it will compute otherwise", what, type));
  };
  const bool plain = type == "llama" || type == "mistral" || type == "mixtral" || type == "ministral3";
  const bool qwen = type.starts_with("qwen") && c.flag("use_sliding_window", false);
  if ((plain && c.integer("sliding_window", 0) > 0) || qwen || (type == "phi3" && c.integer("sliding_window", 0) > 0))
    lost("windows");
}

}  // namespace

io::GgufMetadata keys_of(const std::string& config) {
  Config c(config);
  const Architecture* a = find_architecture_of(c.model_type());
  DY_CHECK_AS(ValueError, a, "GGUF has no architecture here for model_type \"{}\"", c.model_type());
  if (std::string_view(a->name) == "gemma3") c = with_gemma3s_usual(c);
  if (c.has("num_local_experts")) c.usually("num_experts", c.integer("num_local_experts"));  // Qwen's files say either
  Writer w(a->name);
  w.keys.emplace_back("general.architecture", std::string(a->name));
  for (const KeyName& k : a->keys) {
    if (!c.has(k.own) || c.at(k.own).is_array()) continue;
    if (k.type == KeyType::whole)
      w.whole(k.gguf, c.integer(k.own));
    else
      w.real(k.gguf, c.real(k.own));
  }
  if (a->decoder) put_decoder(w, *a, c);
  if (a->put) a->put(w, c);
  warn_of_losses(c);
  return std::move(w.keys);
}

std::string config_in_gguf(const std::string& config) {
  const Architecture* a = find_architecture_of(Config(config).model_type());
  if (!a || !a->headless) return config;
  json c = parse_json(config);
  const json own = json::array({a->families[0].architecture});
  if (c.contains("architectures") && c["architectures"] == own) return config;
  c["architectures"] = own;
  return dump_json(c, 2) + "\n";
}

}  // namespace dyadic::inline v1::models
