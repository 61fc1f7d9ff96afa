// All of a tokenizer: its stages, added tokens and chat template.
#pragma once
#include <unordered_map>

#include "dyadic/tokenizer.h"
#include "text/added_tokens.h"
#include "text/stages.h"
#include "text/word_cache.h"

namespace dyadic::inline v1::io {
class GgufFile;
}
namespace dyadic::inline v1::text {

namespace jinja {
class Template;
}

struct TokenizerState {
  std::unique_ptr<Normalizer> normalizer;  // null: none, as for the others but the model
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<Decoder> decoder;
  Frame frame;
  std::vector<AddedToken> added;
  std::unordered_map<int64_t, size_t> added_by_id;
  std::unordered_map<std::string, int64_t> added_by_text;
  AddedTokens raw, normalized;
  std::map<std::string, std::string> special_texts;  // "bos_token": "<s>" ...
  std::shared_ptr<const jinja::Template> chat_template;
  std::string json;                            // as it was read; empty: a GGUF file's vocabulary
  std::map<std::string, std::string> beside;   // files that stood beside it
  std::shared_ptr<const io::GgufFile> stored;  // whose vocabulary it is; null: none
  mutable WordCaches caches;

  void add(AddedToken token);  // the normalizer and the model are there
  std::optional<int64_t> find(std::string_view token) const;
  std::optional<std::string> token(int64_t id) const;
  std::optional<int64_t> special(const char* name) const;
};

std::shared_ptr<TokenizerState> read_tokenizer(std::string_view json);
void read_config(TokenizerState& state, std::string_view config, std::string_view chat_template);
// Of files' contents, tokenizer.json's first; of a GGUF file and of its vocabulary.
std::shared_ptr<TokenizerState> tokenizer_state(std::string_view json, std::string_view config, std::string_view chat_template);
std::shared_ptr<TokenizerState> read_gguf(std::shared_ptr<const io::GgufFile> file);
std::shared_ptr<TokenizerState> vocabulary_state(StoredVocabulary vocabulary);
StoredVocabulary to_vocabulary(const Tokenizer& own, const TokenizerState& state, size_t size);

}  // namespace dyadic::inline v1::text
