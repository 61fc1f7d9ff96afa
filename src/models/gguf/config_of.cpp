// config.json from a GGUF file's keys.
#include <algorithm>

#include "base/json.h"
#include "io/bad_file.h"
#include "models/gguf/files.h"
#include "models/gguf/keys.h"

namespace dyadic::inline v1::models {
namespace {

using io::GgufFile;
using Reader = KeyReader;

void set_yarn(json& p, const Reader& r, const std::string& family) {
  p["beta_fast"] = r.real("rope.scaling.yarn_beta_fast", 32), p["beta_slow"] = r.real("rope.scaling.yarn_beta_slow", 1);
  if (r.has("rope.scaling.yarn_log_multiplier"))
    p["mscale"] = 1.0, p["mscale_all_dim"] = r.real("rope.scaling.yarn_log_multiplier");
  if (family == "gpt_oss") p["truncate"] = false;
}

json rope_of(const Reader& r, const std::string& family) {
  json p = {{"rope_type", "default"}, {"rope_theta", r.real("rope.freq_base", 10000)}};
  std::string type = r.text("rope.scaling.type");
  const double factor = r.real("rope.scaling.factor", r.real("rope.scale_linear", 0));
  if (type.empty() && factor != 0) type = "linear";
  if (r.has("rope.scaling.original_context_length"))
    p["original_max_position_embeddings"] = r.whole("rope.scaling.original_context_length");
  if (r.has_tensor("rope_factors_long.weight")) {
    p["rope_type"] = "longrope";
    p["long_factor"] = r.numbers_of_tensor("rope_factors_long.weight"),
    p["short_factor"] = r.numbers_of_tensor("rope_factors_short.weight");
    if (r.has("rope.scaling.attn_factor")) p["attention_factor"] = r.real("rope.scaling.attn_factor");
  } else if (r.has_tensor("rope_freqs.weight")) {  // one divisor for each pair, in short texts and long ones
    p["rope_type"] = "longrope";
    p["long_factor"] = p["short_factor"] = r.numbers_of_tensor("rope_freqs.weight");
    p["factor"] = p["attention_factor"] = 1.0;
  } else if ((type == "linear" || type == "yarn") && factor != 0) {
    p["rope_type"] = type, p["factor"] = factor;
    if (type == "yarn") set_yarn(p, r, family);
  }
  return p;
}

// Which of an architecture's families it is.
const FamilyName& family_of(const Architecture& a, const Reader& r) {
  const std::string name = a.name;
  if (name == "llama") return a.families[r.whole("expert_count", 0) > 0 ? 2 : 0];
  if (name == "olmo2") return a.families[r.whole("attention.sliding_window", 0) > 0 ? 1 : 0];
  return a.families[0];
}

void set_experts(json& c, const Reader& r, const std::string& family) {
  if (family == "gpt_oss") c["intermediate_size"] = r.whole("expert_feed_forward_length");
  if (family != "qwen2_moe" && family != "qwen3_moe") return;
  c["norm_topk_prob"] = family == "qwen3_moe";
  c["decoder_sparse_step"] = 1;
  json plain = json::array();
  for (int64_t i = 0; i < c.value("num_hidden_layers", int64_t(0)); ++i) {
    if (!r.has_tensor(fmt::format("blk.{}.ffn_gate_exps.weight", i))) plain.push_back(i);
  }
  c["mlp_only_layers"] = plain;
}

// Where scores are not divided by the root of head_dim: the largest Gemmas'.
void set_gemma(json& c, const Reader& r, const std::string& family, int64_t layers, int64_t head_dim) {
  c["hidden_activation"] = "gelu_pytorch_tanh";
  if (family == "gemma") return;
  const bool largest = layers == (family == "gemma2" ? 46 : 62);
  c["query_pre_attn_scalar"] = largest ? r.whole("embedding_length") / r.whole("attention.head_count") : head_dim;
}

void set_special_tokens(json& c, const GgufFile& f) {
  constexpr const char* kNames[][2] = {{"bos", "bos_token_id"}, {"eos", "eos_token_id"}, {"padding", "pad_token_id"}};
  for (auto [key, name] : kNames)
    if (const std::string full = fmt::format("tokenizer.ggml.{}_token_id", key); f.has_key(full)) c[name] = f.integer(full);
}

void set_layers(json& c, const Architecture& a, const Reader& r, int64_t layers) {
  const int64_t window = r.whole("attention.sliding_window", 0);
  if (window == 0) {
    if (c.contains("sliding_window")) c["sliding_window"] = nullptr;
    return;
  }
  if (const auto windows = r.windows(layers, a.every)) {
    json types = json::array();
    for (bool w : *windows) types.push_back(w ? "sliding_attention" : "full_attention");
    c["layer_types"] = types;
  }
}

void set_decoder(json& c, const Architecture& a, const Reader& r, const std::string& family) {
  const int64_t layers = r.layers(), heads = std::max<int64_t>(r.whole("attention.head_count"), 1);
  // Each has tensors of its own; a count that is none is refused before anything is made of it.
  if (uint64_t(layers) > r.file().tensors().size())
    io::bad(r.file().path(), "key \"{}.block_count\": {} layers, and there are {} tensors", a.name, layers,
            r.file().tensors().size());
  const int64_t head_dim = r.whole("attention.key_length", r.whole("embedding_length") / heads);
  c["head_dim"] = head_dim, c["num_hidden_layers"] = layers;
  json rope = rope_of(r, family);
  if (const int64_t turned = r.whole("rope.dimension_count", head_dim); turned != head_dim && head_dim > 0)
    rope["partial_rotary_factor"] = double(turned) / double(head_dim);
  if (family == "ministral3") rope["llama_4_scaling_beta"] = r.real("attention.temperature_scale", 0);
  set_layers(c, a, r, layers);
  c["rope_parameters"] = rope;
  if (a.own_rope && !c.value("layer_types", json()).is_null()) {
    const double base = r.real("rope.freq_base_swa", family == "olmo3" ? rope["rope_theta"].get<double>() : 10000.0);
    c["rope_parameters"] = {{"full_attention", rope}, {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", base}}}};
  }
  c["tie_word_embeddings"] = a.tied || !r.has_tensor("output.weight");
  c["attention_bias"] = r.has_tensor("blk.0.attn_output.bias");
  c["mlp_bias"] = r.has_tensor("blk.0.ffn_gate.bias");
  if (family.starts_with("gemma")) set_gemma(c, r, family, layers, head_dim);
  set_experts(c, r, family);
}

}  // namespace

const Architecture& architecture_of(const GgufFile& file) {
  const std::string name = file.has_key("general.architecture") ? file.text("general.architecture") : "";
  if (const Architecture* a = find_architecture(name)) return *a;
  std::string known;
  for (const Architecture& a : architectures()) known += (known.empty() ? "" : ", ") + std::string(a.name);
  io::bad(file.path(), "general.architecture {} is none of {}", io::quote_name(name), known);
}

std::string config_of(const GgufFile& file) {
  if (const std::string key = std::string(kFileKey) + "config.json"; file.has_key(key)) return file.text(key);
  const Architecture& a = architecture_of(file);
  const Reader r(file, a.name);
  const FamilyName& family = family_of(a, r);
  json c = {{"model_type", family.type}, {"architectures", json::array({family.architecture})}};
  for (const KeyName& k : a.keys)
    if (r.has(k.gguf) && !r.has_list(k.gguf))
      c[k.own] = k.type == KeyType::whole ? json(r.whole(k.gguf)) : json(r.real(k.gguf));
  const std::vector<int64_t>& embedding = r.tensor("token_embd.weight").shape;
  c["vocab_size"] = embedding.empty() ? 0 : embedding[0];
  set_special_tokens(c, file);
  if (a.decoder) set_decoder(c, a, r, family.type);
  if (a.take) a.take(c, r);
  return dump_json(c, 2) + "\n";
}

}  // namespace dyadic::inline v1::models
