// Trained models as files: a safetensors file of the weights, whose metadata says what model they belong to:
//   "model": {"vocab", "block", "layers", "heads", "width", "bias"} as JSON, "preset": its name, "vocabulary":
//   Vocabulary::save().
#pragma once
#include <memory>
#include <string>

#include "dyadic/gpt.h"
#include "dyadic/io.h"
#include "study/vocabulary.h"

namespace dyadic::inline v1::study {

io::Metadata model_metadata(const models::GptConfig& config, const std::string& preset, const Vocabulary& vocabulary);

struct TrainedModel {
  std::unique_ptr<models::Gpt> model;  // weights in the dtypes of the file
  Vocabulary vocabulary;
  std::string preset, path;
};
// A file, or the folder that holds it as model.safetensors. ValueError names the file and what is wrong with it.
TrainedModel load_model(const std::string& path);

}  // namespace dyadic::inline v1::study
