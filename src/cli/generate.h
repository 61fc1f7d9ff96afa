// dyadic generate's options, and its two kinds of models.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace dyadic::inline v1::cli {

struct GenerateCommand {
  std::string model, prompt, batch, system;
  bool chat = false;
  int64_t tokens = 256;
  uint64_t seed = 0;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;  // what is not given the model's makers may advise
  std::optional<int64_t> top_k;
  std::vector<std::string> stop, eos;
  std::string format, kv, offload_folder;
};

// More than a text model of dyadic train does by itself, which reads the last of a text of any length.
bool asks_more(const GenerateCommand& o);
bool is_language_model(const std::string& path);                        // models::is_model
int generate_built_in(const GenerateCommand& o, const Common& common);  // of dyadic train or study
int generate_language_model(const GenerateCommand& o, const Common& common);

}  // namespace dyadic::inline v1::cli
