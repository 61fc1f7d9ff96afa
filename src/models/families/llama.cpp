// Llama (Touvron et al. 2023), and what differs from it in its attention alone: Mistral's windows, Ministral 3's scaled
// queries, SmolLM3's layers without positions.
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

Plan llama_plan(const Config& c) {
  Plan p = common_plan(c);
  const bool bias = c.flag("mlp_bias", false);
  if (bias)
    p.feed = [width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t, nn::Options o) {
      return std::make_shared<GatedMlp>(width, hidden, act, true, o);
    };
  return p;
}

Plan mistral_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.bias = p.attention.out_bias = false;
  set_windows(p, c, c.integer("sliding_window", 0), [](int64_t) { return true; });
  return p;
}

Plan ministral3_plan(const Config& c) {
  Plan p = mistral_plan(c);
  const json rope = c.rope();
  p.attention.beta = real_of(rope, "llama_4_scaling_beta", 0);
  p.attention.original = int64_t(real_of(rope, "original_max_position_embeddings", double(p.longest)));
  DY_CHECK_AS(ValueError, p.attention.original >= 1, "config.json: original_max_position_embeddings is {}, below 1",
              p.attention.original);
  return p;
}

Plan smollm3_plan(const Config& c) {
  Plan p = llama_plan(c);
  p.tied = c.flag("tie_word_embeddings", true);
  const std::vector<int64_t> has = c.integers("no_rope_layers");  // 1: it has them
  const int64_t every = c.size("no_rope_layer_interval", 4);
  DY_CHECK_AS(ValueError, has.empty() || int64_t(has.size()) == p.layers,
              "config.json: no_rope_layers: expected {} numbers, one for each layer, and they are {}", p.layers, has.size());
  for (int64_t i = 0; i < p.layers; ++i)
    if (has.empty() ? (i + 1) % every == 0 : has[size_t(i)] == 0) p.ropes[size_t(i)] = nullptr;
  if (c.flag("use_sliding_window", false))
    set_windows(p, c, c.integer("sliding_window", 0), [&](int64_t i) { return !p.ropes[size_t(i)]; });
  return p;
}

}  // namespace

extern const Family llama{"llama", make_with<llama_plan>};
extern const Family mistral{"mistral", make_with<mistral_plan>};
extern const Family ministral3{"ministral3", make_with<ministral3_plan>};
extern const Family smollm3{"smollm3", make_with<smollm3_plan>};

}  // namespace dyadic::inline v1::models
