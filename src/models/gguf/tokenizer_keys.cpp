#include "models/gguf/tokenizer_keys.h"

#include <filesystem>
#include <span>

#include "base/log.h"
#include "dyadic/model_files.h"
#include "dyadic/tokenizer.h"
#include "io/atomic_file.h"
#include "io/bad_file.h"
#include "models/gguf/files.h"
#include "text/gguf_vocabulary.h"

namespace dyadic::inline v1::models {
namespace {

namespace fs = std::filesystem;

// Names are these alone: none comes from a file.
const char* const kCarried[] = {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json",
                                "chat_template.jinja"};
const char* const kTokenizerFiles[] = {"tokenizer.json",    "tokenizer_config.json", "special_tokens_map.json",
                                       "added_tokens.json", "chat_template.jinja",   "vocab.json",
                                       "merges.txt",        "tokenizer.model"};
const char* const kConfigFiles[] = {"generation_config.json"};

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}
void put_vocabulary(io::GgufMetadata& keys, StoredVocabulary v) {
  const auto put = [&](const char* name, io::GgufValue value) {
    keys.emplace_back(std::string("tokenizer.ggml.") + name, std::move(value));
  };
  put("model", v.model), put("pre", v.pre);
  put("tokens", io::GgufArray(std::move(v.tokens)));
  if (!v.scores.empty()) put("scores", io::GgufArray(std::move(v.scores)));
  put("token_type", io::GgufArray(std::move(v.types)));
  if (!v.merges.empty()) put("merges", io::GgufArray(std::move(v.merges)));
  const std::pair<const char*, int64_t> ids[] = {{"bos_token_id", v.bos},
                                                 {"eos_token_id", v.eos},
                                                 {"unknown_token_id", v.unknown},
                                                 {"padding_token_id", v.padding},
                                                 {"mask_token_id", v.mask},
                                                 {"seperator_token_id", v.separator},  // so it is spelled
                                                 {"cls_token_id", v.model == "bert" ? v.bos : -1}};
  for (auto [name, id] : ids)
    if (id >= 0) put(name, uint32_t(id));
  if (v.add_bos) put("add_bos_token", *v.add_bos);
  if (v.add_eos) put("add_eos_token", *v.add_eos);
  if (v.add_separator) put("add_sep_token", *v.add_separator);
  if (v.add_space_prefix) put("add_space_prefix", *v.add_space_prefix);
  if (v.remove_extra_whitespaces) put("remove_extra_whitespaces", true);
  if (!v.precompiled_charsmap.empty())
    put("precompiled_charsmap",
        io::GgufArray(std::vector<uint8_t>(v.precompiled_charsmap.begin(), v.precompiled_charsmap.end())));
  if (v.lowercase) put("normalizer.lowercase", *v.lowercase);
  if (v.strip_accents) put("normalizer.strip_accents", *v.strip_accents);
  if (!v.chat_template.empty()) keys.emplace_back("tokenizer.chat_template", std::move(v.chat_template));
}

// Of a file that another program wrote.
void write_vocabulary(const io::GgufFile& file, const std::string& folder) {
  text::TokenizerFiles made;
  try {
    made = text::files_of(text::vocabulary_of(file));
  } catch (const Error& e) {
    return warn(fmt::format("{}: {} gets no tokenizer.json, which has no form for this: {}", file.path(), folder, e.what()));
  }
  io::write_whole("convert", folder + "/tokenizer.json", made.tokenizer);
  const std::string name = "tokenizer_config.json";
  if (!file.has_key(kFileKey + name)) io::write_whole("convert", folder + "/" + name, made.config);
}

}  // namespace

void put_folder(io::GgufMetadata& keys, const std::string& folder, const std::string& config, int64_t vocab) {
  if (is_file(folder + "/tokenizer.json")) {
    try {
      put_vocabulary(keys, Tokenizer::load(folder).stored_vocabulary(vocab));
    } catch (const ValueError& e) { warn(fmt::format("{}: llama.cpp will not read its tokenizer: {}", folder, e.what())); }
    keys.emplace_back(kTokenizerJson, io::read_text(folder + "/tokenizer.json"));
  } else {
    keys.emplace_back("tokenizer.ggml.model", std::string("none"));
  }
  keys.emplace_back(kFileKey + std::string("config.json"), config);
  for (const char* name : kCarried)
    if (const std::string path = folder + "/" + name; is_file(path))
      keys.emplace_back(kFileKey + std::string(name), io::read_text(path));
}

void write_folder(const io::GgufFile& file, const std::string& folder, const std::string& config) {
  for (const char* name : kCarried)
    if (const std::string key = kFileKey + std::string(name); file.has_key(key))
      io::write_whole("convert", folder + "/" + name, file.text(key));
  io::write_whole("convert", folder + "/config.json", config);
  if (file.has_key(kTokenizerJson))
    io::write_whole("convert", folder + "/tokenizer.json", file.text(kTokenizerJson));
  else if (file.has_key("tokenizer.ggml.tokens"))
    write_vocabulary(file, folder);
}

static void copy_files(const std::string& from, const std::string& to, std::span<const char* const> names) {
  for (const char* name : names)
    if (const std::string path = from + "/" + name; is_file(path))
      io::write_whole("convert", to + "/" + name, io::read_text(path));
}
void copy_tokenizer(const std::string& from, const std::string& to) { copy_files(from, to, kTokenizerFiles); }
void copy_small_files(const std::string& from, const std::string& to, const std::string& config) {
  copy_tokenizer(from, to);
  copy_files(from, to, kConfigFiles);
  io::write_whole("convert", to + "/config.json", config);
}

}  // namespace dyadic::inline v1::models
