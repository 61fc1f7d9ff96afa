// Qwen2: biases of queries, keys and values. Qwen3: a norm of each head's queries and keys instead, and heads of a size of
// their own. Both with experts as well.
#include <algorithm>

#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

// In some layers experts take the gated layer's place.
void set_experts(Plan& p, const Config& c, int64_t shared_hidden, bool normed) {
  const char* count = c.has("num_experts") ? "num_experts" : "num_local_experts";
  const Routing routing{c.size(count), c.size("num_experts_per_tok"), c.flag("norm_topk_prob", normed)};
  c.check_modules(p.layers, routing.experts, "experts");
  const std::vector<int64_t> plain = c.integers("mlp_only_layers");
  const int64_t step = c.size("decoder_sparse_step", 1), expert_hidden = c.size("moe_intermediate_size");
  p.feed = [=, width = p.attention.width, hidden = p.hidden, act = p.activation](int64_t layer,
                                                                                 nn::Options o) -> std::shared_ptr<nn::Module> {
    if (std::ranges::find(plain, layer) != plain.end() || (layer + 1) % step != 0)
      return std::make_shared<GatedMlp>(width, hidden, act, false, o);
    return std::make_shared<Experts>(width, expert_hidden, shared_hidden, act, routing, o);
  };
}

Plan qwen2_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.bias = true, p.attention.out_bias = false;
  const int64_t first = c.integer("max_window_layers", 28);
  if (c.flag("use_sliding_window", false))
    set_windows(p, c, c.integer("sliding_window", 4096), [&](int64_t i) { return i >= first; });
  return p;
}
Plan qwen2_moe_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.bias = c.flag("qkv_bias", true), p.attention.out_bias = false;
  const int64_t last = c.integer("max_window_layers", 28);
  if (c.flag("use_sliding_window", false))
    set_windows(p, c, c.integer("sliding_window", 4096), [&](int64_t i) { return i % 2 == 0 && i < last; });
  set_experts(p, c, c.size("shared_expert_intermediate_size"), false);
  return p;
}
Plan qwen3_plan(const Config& c) {
  Plan p = common_plan(c, 128);
  p.attention.norm = QueryNorm::head;
  const int64_t first = c.integer("max_window_layers", 28);
  if (c.flag("use_sliding_window", false))
    set_windows(p, c, c.integer("sliding_window", 4096), [&](int64_t i) { return i >= first; });
  return p;
}
Plan qwen3_moe_plan(const Config& c) {
  Plan p = common_plan(c);
  p.attention.norm = QueryNorm::head;
  if (c.flag("use_sliding_window", false)) set_windows(p, c, c.integer("sliding_window", 0), [](int64_t) { return true; });
  set_experts(p, c, 0, false);
  return p;
}

}  // namespace

extern const Family qwen2{"qwen2", make_with<qwen2_plan>};
extern const Family qwen2_moe{"qwen2_moe", make_with<qwen2_moe_plan>};
extern const Family qwen3{"qwen3", make_with<qwen3_plan>};
extern const Family qwen3_moe{"qwen3_moe", make_with<qwen3_moe_plan>};

}  // namespace dyadic::inline v1::models
