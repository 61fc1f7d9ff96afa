#include "models/gguf/keys.h"
#include "models/gguf/tables.h"

namespace dyadic::inline v1::models {

static void put_gpt2(KeyWriter& w, const Config& c) {
  w.whole("context_length", c.size("n_positions", 1024));
  w.whole("feed_forward_length", c.size("n_inner", 4 * c.size("n_embd")));
  w.real("attention.layer_norm_epsilon", c.real("layer_norm_epsilon", 1e-5));
}

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
      {.name = "granitemoe",
       .families = {{"granitemoe", "GraniteMoeForCausalLM"}},
       .layers = kLayers,
       .whole = kWhole,
       .layer = kNormsBefore + kInterleaved + kGraniteExperts,
       .keys = kKeys + kExperts + kGranite},
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
       .whole = with_shifted(kWhole),
       .layer = with_shifted(kPlain),
       .keys = kKeys,
       .head_dim = 256,
       .tied = true},
      {.name = "gemma2",
       .families = {{"gemma2", "Gemma2ForCausalLM"}},
       .layers = kLayers,
       .whole = with_shifted(kWhole),
       .layer = with_shifted(kNormsAround + kAttention + kMlp),
       .keys = kKeys + kWindow + kCaps,
       .head_dim = 256,
       .every = 2,
       .tied = true},
      {.name = "gemma3",
       .families = {{"gemma3_text", "Gemma3ForCausalLM"}, {"gemma3", "Gemma3ForConditionalGeneration"}},
       .layers = kLayers,
       .whole = with_shifted(kWhole),
       .layer = with_shifted(kNormsAround + kAttention + kHeadNorms + kMlp),
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
       .tied = true,
       .body = "transformer.",
       .decoder = false,
       .put = put_gpt2},
      qwen35_architecture(),
      qwen35moe_architecture(),
      gemma4_architecture(),
      deepseek2_architecture(),
      bert_architecture(),
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
