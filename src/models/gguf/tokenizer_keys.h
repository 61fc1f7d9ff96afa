// A tokenizer and the small files of a model's folder among a GGUF file's keys.
#pragma once
#include "dyadic/gguf.h"

namespace dyadic::inline v1::models {

// Of the folder's tokenizer and small files, of which config.json is given, for a model whose vocabulary has so many tokens.
// Where GGUF has no form for the tokenizer, that is said in a warning, and Hugging Face's own is carried all the same.
void put_folder(io::GgufMetadata& keys, const std::string& folder, const std::string& config, int64_t vocab);
// The files that a GGUF file carries, into a folder, with this config.json. A tokenizer that is there as a vocabulary alone
// becomes Hugging Face's files; a warning where they have no form for it.
void write_folder(const io::GgufFile& file, const std::string& folder, const std::string& config);
// The tokenizer's files and generation_config.json, with this config.json.
void copy_small_files(const std::string& from, const std::string& to, const std::string& config);

}  // namespace dyadic::inline v1::models
