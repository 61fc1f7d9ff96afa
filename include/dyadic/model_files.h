// Language models from one kind of file to another: folders as Hugging Face's tools write them, and GGUF.
#pragma once
#include <string>
#include <vector>

#include "dyadic/convert.h"

namespace dyadic::inline v1::models {

// A model's folder, or the GGUF file of one that models::load knows.
bool is_model(const std::string& path);

// From a folder to "x.gguf": tensors under the names and in the form that llama.cpp reads, keys from config.json, the
// tokenizer's vocabulary; and the folder's small files, so that the way back gives them again. What llama.cpp wants as f32
// (norms, biases, routers) stays that, whatever the options' format. From GGUF to a folder (which is made if need be):
// model.safetensors, or several and an index, config.json and the tokenizer's files; a tensor that is f32 in GGUF alone becomes
// config.json's dtype again, where that is exact. From folder to folder the small files are copied. A LoRA adapter in PEFT's
// folder becomes llama.cpp's file and back; `base` is the model that it is for (without: what adapter_config.json names, if
// that is here). All else is io::convert. ValueError where GGUF has no architecture for the model.
std::vector<io::Converted> convert(const std::string& in, const std::string& out, const io::ConvertOptions& options = {},
                                   const std::string& base = "");

// The files of a folder's tokenizer (tokenizer.json, tokenizer_config.json, chat_template.jinja ...) into another that is
// there; those that are missing, and all where `from` is a GGUF file, are passed by.
void copy_tokenizer(const std::string& from, const std::string& to);

}  // namespace dyadic::inline v1::models
