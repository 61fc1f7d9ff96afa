// Tokenizers written as Hugging Face's files.
#include <filesystem>

#include "base/check.h"
#include "dyadic/gguf.h"
#include "io/atomic_file.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer_state.h"

namespace dyadic::inline v1 {

constexpr const char* kDocument = "tokenizer.json";

std::map<std::string, std::string> Tokenizer::files() const {
  std::map<std::string, std::string> all = state_->beside;
  if (!state_->json.empty()) {
    all[kDocument] = state_->json;
    return all;
  }
  DY_CHECK_AS(ValueError, state_->stored, "save: a vocabulary that came from no file has no {}", kDocument);
  text::TokenizerFiles made = text::files_of(text::vocabulary_of(*state_->stored));
  all[kDocument] = std::move(made.tokenizer), all["tokenizer_config.json"] = std::move(made.config);
  return all;
}

void Tokenizer::save(const std::string& path) const { io::write_whole("save", path, files().at(kDocument)); }

void Tokenizer::save_pretrained(const std::string& folder) const {
  const std::map<std::string, std::string> all = files();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder, error.message());
  for (const auto& [name, content] : all) io::write_whole("save", folder + "/" + name, content);
}

}  // namespace dyadic::inline v1
