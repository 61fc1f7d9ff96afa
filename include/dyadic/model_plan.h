// What a language model takes, in every format, before any of it is read: to make text, and to be trained further.
//
//   for (auto& use : dy::tune::plan_model(dy::models::config_json("path/to/Qwen3-0.6B"), {.context = 4096}, int64_t(4) << 30))
//     std::printf("%s %s: %lld bytes\n", use.what.c_str(), use.format.name().c_str(), (long long)use.peak);
#pragma once
#include "dyadic/finetune.h"

namespace dyadic::inline v1::tune {

struct ModelPlanOptions {
  nn::ByName by_name = {};
  std::vector<DType> formats =
      {};                     // of the weights; empty: bf16, i8(row), q8_0, q6_K, q5_K, nf4, q4_K, q3_K, q2_K, those that fit
  int64_t context = 0;        // tokens of a text, prompt and answer; 0: as many as the model reads, at most 2048
  int64_t batch = 1;          // texts at once
  models::KvFormats kv = {};  // of what is kept of them
  std::optional<models::LoraConfig> lora = models::LoraConfig{.r = 16, .lora_alpha = 32};  // of training; none: all weights
};
struct ModelUse {    // bytes, predicted: each category's peak
  std::string what;  // "generate", "finetune"
  DType format;
  int64_t weights = 0;
  int64_t cache = 0;     // of "generate": keys and values of the whole context
  int64_t training = 0;  // of "finetune": gradients, the optimizer's states and what is kept for backward
  int64_t peak = 0;      // of all tensors together
  bool fits = true;      // in the limit
  bool again = false;    // it does once backward makes calls of forward again
  int64_t on_disk = 0;   // weights that stay in their file so that the rest fits; read for every token, or twice a step
};
// Making text with each format, then training with each that can be trained (an adapter: all; all weights: floats of 16 bits
// and more), from runs on the device meta, where nothing is allocated or computed. limit: bytes; 0: none. Errors are those of
// models::make, and ValueError where a format fits no weight.
std::vector<ModelUse> plan_model(const std::string& config_json, const ModelPlanOptions& options = {}, int64_t limit = 0);

// What making text takes with the weights of a model that models::load has made on meta; formats and lora are not read.
ModelUse plan_generation(models::CausalLM& model, const ModelPlanOptions& options = {});

struct Placement {
  DeviceMap map = {{"", "cpu"}};
  int64_t on_disk = 0;  // bytes of weights
  int64_t window = 0;   // of them in memory at a time
  int64_t peak = 0;     // of all that is in memory, the window with it
};
// What of a model's weights must stay on disk where work takes `peak` with all of them in memory: layers, as few as can be and
// evenly among the others, so that one is read while others run; then a head, and an embedding that is no head.
// OutOfMemoryError that names the least where that is not enough.
// loading: what a weight that is converted takes while it is loaded, beside those that are there.
Placement place(nn::Module& model, int64_t peak, int64_t limit, int64_t loading = 0);
// The same for an adapter that is trained on a model of models::load on meta: with the fewest weights on disk that fit, and as
// many calls of forward made again in backward as that takes.
Placement place_to_finetune(models::CausalLM& model, const FinetuneOptions& options, int64_t loading = 0);

}  // namespace dyadic::inline v1::tune
