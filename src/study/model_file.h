// Trained models as folders in Hugging Face's form for GPT-2, which whatever opens such folders opens: model.safetensors,
// config.json, tokenizer.json. The metadata of the first has beside it what this program asks for:
//   "model": {"vocab", "block", "layers", "heads", "width", "bias"} as JSON, "preset": its name, "vocabulary":
//   Vocabulary::save().
#pragma once
#include <memory>
#include <string>

#include "dyadic/gpt.h"
#include "dyadic/tensor_file.h"
#include "study/vocabulary.h"

namespace dyadic::inline v1::study {

// Each file whole or not at all, the weights last. `more`: further metadata.
void save_model(const std::string& folder, const models::Gpt& model, const Vocabulary& vocabulary, const io::Metadata& more);
// What a file of save_model() has for a model, by the names of the model's own parameters; it lies in the file. ValueError
// names what is missing.
io::NamedTensors weights_of(const nn::Module& model, const io::TensorFile& file);

io::Metadata texts_of(const io::TensorFile& file);  // what its metadata says in words

bool is_trained(const std::string& path);  // a file of save_model(), or its folder
struct TrainedModel {
  std::unique_ptr<models::Gpt> model;  // weights in the dtypes of the file
  Vocabulary vocabulary;
  std::string preset, path;
};
// A file, or the folder that holds it as model.safetensors. ValueError names the file and what is wrong with it.
TrainedModel load_model(const std::string& path);

}  // namespace dyadic::inline v1::study
