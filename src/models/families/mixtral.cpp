// Mixtral (Jiang et al. 2024): Mistral with experts, each token to two. gpt-oss: sinks that take a part of each head's
// attention, biases everywhere, experts with limits.
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

Plan mixtral_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.bias = p.attention.out_bias = false;
  set_windows(p, c, c.integer("sliding_window", 0), [](int64_t) { return true; });
  const Routing routing{c.size("num_local_experts", 8), c.size("num_experts_per_tok", 2), true};
  c.check_modules(p.layers, routing.experts, "experts");
  p.feed_name = "block_sparse_moe";
  p.feed = [=, width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t, nn::Options o) {
    return std::make_shared<Experts>(width, hidden, 0, act, routing, o, MlpNames{"w1", "w3", "w2"});
  };
  return p;
}

Plan gpt_oss_plan(const Config& c) {
  Plan p = common_plan(c, 64);
  p.attention.bias = p.attention.out_bias = c.flag("attention_bias", true);
  p.attention.sinks = true;
  set_windows(p, c, c.integer("sliding_window", 128), [](int64_t i) { return i % 2 == 0; });
  const Routing routing{c.size("num_local_experts", 128), c.size("num_experts_per_tok", c.size("experts_per_token", 4)), true};
  const double limit = c.real("swiglu_limit", 7), slope = c.real("swiglu_alpha", 1.702);
  p.feed = [=, width = p.attention.width, hidden = p.hidden](int64_t, nn::Options o) {
    return std::make_shared<InterleavedExperts>(width, hidden, routing, limit, slope, o);
  };
  return p;
}

}  // namespace

extern const Family mixtral{"mixtral", make_with<mixtral_plan>};
extern const Family gpt_oss{"gpt_oss", make_with<gpt_oss_plan>};

}  // namespace dyadic::inline v1::models
