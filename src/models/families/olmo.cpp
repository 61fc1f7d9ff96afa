// OLMo 2 and 3: no norms before, but after each part; a norm of all queries together and of all keys. 3: three windows to one
// layer that sees all, and positions are stretched in the latter alone. Granite: four multipliers; with experts as well.
#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

Plan olmo2_plan(const Config& c) {
  Plan p = common_plan(c);
  p.norms = Norms::after;
  p.attention.norm = QueryNorm::whole;
  p.attention.eps = p.eps = c.real("rms_norm_eps", 1e-5);
  return p;
}

Plan olmo3_plan(const Config& c) {
  Plan p = olmo2_plan(c);
  set_windows(p, c, c.integer("sliding_window", 4096), [](int64_t i) { return (i + 1) % 4 != 0; });
  const auto near = std::make_shared<Rope>(c.rope("sliding_attention"), p.attention.head_dim, p.longest);
  for (size_t i = 0; i < p.ropes.size(); ++i)
    if (p.windows[i]) p.ropes[i] = near;
  return p;
}

Plan granite_plan(const Config& c) {
  Plan p = common_plan(c);
  p.embed_scale = c.real("embedding_multiplier", 1);
  p.residual_scale = c.real("residual_multiplier", 1);
  p.logit_divisor = c.real("logits_scaling", 1);
  p.attention.scale = c.real("attention_multiplier", 1);
  DY_CHECK_AS(ValueError, p.logit_divisor != 0, "config.json: logits_scaling is 0");
  if (c.flag("mlp_bias", false))
    p.feed = [width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t, nn::Options o) {
      return std::make_shared<GatedMlp>(width, hidden, act, true, o);
    };
  return p;
}

Plan granitemoe_plan(const Config& c) {
  Plan p = granite_plan(c);
  const Routing routing{c.size("num_local_experts", 8), c.size("num_experts_per_tok", 2), true};
  c.check_modules(p.layers, 1, "experts");
  p.feed_name = "block_sparse_moe";
  p.feed = [=, width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t, nn::Options o) {
    return std::make_shared<StackedExperts>(width, hidden, act, routing, o);
  };
  return p;
}

}  // namespace

extern const Family olmo2{"olmo2", make_with<olmo2_plan>};
extern const Family olmo3{"olmo3", make_with<olmo3_plan>};
extern const Family granite{"granite", make_with<granite_plan>};
extern const Family granitemoe{"granitemoe", make_with<granitemoe_plan>};

}  // namespace dyadic::inline v1::models
