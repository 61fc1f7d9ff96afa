// The decoder that most families are: an embedding, layers of attention and a gated layer, a norm, a head. What differs between
// them is in a Plan, which a family's file fills from its config.json.
#pragma once
#include <functional>

#include "models/experts.h"

namespace dyadic::inline v1::models {

enum class Norms { before, after, around };  // of each part: its input, its result (before it is added), or both

struct Plan {
  int64_t vocab = 0, layers = 0, hidden = 0, longest = 0;
  AttentionShape attention;                        // window and rope are each layer's own
  std::vector<int64_t> windows;                    // by layer; 0: none
  std::vector<std::shared_ptr<const Rope>> ropes;  // by layer; null: none
  double eps = 0;
  Norms norms = Norms::before;
  bool norm_from_one = false, tied = false;
  std::string activation;
  double embed_scale = 1, residual_scale = 1, logit_divisor = 1, logit_softcap = 0;
  const char* feed_name = "mlp";
  std::function<std::shared_ptr<nn::Module>(int64_t layer, nn::Options)> feed;  // empty: a GatedMlp
};

// What all of them say in the same words. Families change it from there.
// head_dim: 0 is hidden_size / num_attention_heads; a config.json's own is taken first.
Plan common_plan(const Config& c, int64_t head_dim = 0);
std::shared_ptr<CausalLM> make_decoder(const std::string& config, Plan plan, nn::Options options);

// A family of models: its file's words for itself, and its module.
struct Family {
  const char* type;  // model_type
  std::shared_ptr<CausalLM> (*make)(const std::string& config, const Config& c, nn::Options options);
};
template <Plan (*plan)(const Config&)>
std::shared_ptr<CausalLM> make_with(const std::string& config, const Config& c, nn::Options options) {
  return make_decoder(config, plan(c), options);
}

}  // namespace dyadic::inline v1::models
