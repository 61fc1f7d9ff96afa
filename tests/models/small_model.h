// A language model with a tokenizer and a chat template, made anew for each test program: a llama of two layers whose weights
// come from a seed.
#pragma once
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "dyadic/dyadic.h"
#include "dyadic/io.h"
#include "dyadic/models.h"
#include "tests/test_data.h"

namespace dyadic::testing {

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}
inline void put_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Weights of N(0, scale^2) / sqrt(columns), norms about 1, in bf16.
inline void write_small_model(const std::string& folder, const nlohmann::json& config, double scale = 2) {
  std::filesystem::create_directories(folder);
  auto m = models::make(config.dump(), {f32, cpu});
  NoGrad guard;
  manual_seed(11);
  io::NamedTensors all;
  for (auto& [name, t] : m->named_parameters()) {
    Tensor w = randn(t.sizes());
    w = t.dim() < 2 ? w * 0.2 + (name.ends_with("bias") ? 0.0 : 1.0) : w * (scale / std::sqrt(double(t.size(1))));
    all.emplace_back(name, w.to(bf16));
  }
  io::save(folder + "/model.safetensors", all, {.metadata = {{"format", "pt"}}});
  put_file(folder + "/config.json", config.dump(1));
}

// tests/text/data's byte-level tokenizer, with a BOS at the beginning of texts, and its configuration.
inline void write_small_tokenizer(const std::string& folder, const std::string& name = "llama3") {
  auto j = nlohmann::json::parse(text_of_file(test_data("text/data/" + name + ".json")));
  const bool bytes = j["added_tokens"][0]["content"] == "<|begin|>";
  if (bytes)
    j["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "<|begin|>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", nlohmann::json::array()},
        {"special_tokens", {{"<|begin|>", {{"id", "<|begin|>"}, {"ids", {0}}, {"tokens", {"<|begin|>"}}}}}}};
  put_file(folder + "/tokenizer.json", j.dump());
  const std::string chat =
      "{{ bos_token }}{% for m in messages %}{{ m['role'] + ': ' + m['content'] + eos_token + '\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";
  put_file(folder + "/tokenizer_config.json",
           nlohmann::json{
               {"bos_token", bytes ? "<|begin|>" : "<s>"}, {"eos_token", bytes ? "<|end|>" : "</s>"}, {"chat_template", chat}}
               .dump());
}

inline nlohmann::json small_llama_config(int64_t vocab = 704) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", vocab},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"max_position_embeddings", 512},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"bos_token_id", 0},
          {"eos_token_id", 1},
          {"tie_word_embeddings", false}};
}

// Rows of 256, so that every format of GGUF fits.
inline nlohmann::json perplexity_config() {
  nlohmann::json c = small_llama_config();
  c["hidden_size"] = c["intermediate_size"] = 256;
  return c;
}

// The whole of it, at its path, for as long as the program runs.
inline const std::string& small_model() {
  static const struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "dyadic_model_XXXXXX").native();
    Folder() {
      if (!mkdtemp(path.data())) std::abort();
      write_small_model(path, small_llama_config());
      write_small_tokenizer(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
  } folder;
  return folder.path;
}

}  // namespace dyadic::testing
