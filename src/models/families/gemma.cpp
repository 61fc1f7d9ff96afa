// Gemma: the embedding times sqrt(width), norms times 1 + weight. 2: norms around each part, scores and logits capped by a
// tanh, every other layer a window. 3: a norm of each head's queries and keys in place of the caps, five windows to one layer
// that sees all, another base of positions for each.
#include <cmath>

#include "models/families/families.h"

namespace dyadic::inline v1::models {
namespace {

Plan gemma_plan(const Config& c) {
  Plan p = common_plan(c, 256);
  p.tied = c.flag("tie_word_embeddings", true);
  p.norm_from_one = p.attention.norm_from_one = true;
  p.embed_scale = std::sqrt(double(p.attention.width));
  p.activation = "gelu_pytorch_tanh";  // whatever hidden_act says: old files say gelu and mean this
  return p;
}

Plan gemma2_plan(const Config& c) {
  Plan p = gemma_plan(c);
  p.norms = Norms::around;
  p.activation = c.word("hidden_activation", "gelu_pytorch_tanh");
  const double scalar = c.real("query_pre_attn_scalar", 256);
  DY_CHECK_AS(ValueError, scalar > 0, "config.json: query_pre_attn_scalar is {}, not above 0", scalar);
  p.attention.scale = 1 / std::sqrt(scalar);
  p.attention.softcap = c.real("attn_logit_softcapping", 0);
  p.logit_softcap = c.real("final_logit_softcapping", 0);
  set_windows(p, c, c.integer("sliding_window", 4096), [](int64_t i) { return i % 2 == 0; });
  return p;
}

Plan gemma3_plan(const Config& given) {
  const Config c = with_gemma3s_usual(given);
  Plan p = gemma2_plan(c);
  DY_CHECK_AS(ValueError, !c.flag("use_bidirectional_attention", false),
              "config.json: use_bidirectional_attention: a model that sees what comes after is none that generates");
  p.attention.norm = QueryNorm::head;
  const int64_t every = c.size("sliding_window_pattern", c.size("_sliding_window_pattern", 6));
  p.windows.assign(p.windows.size(), 0);
  set_windows(p, c, c.integer("sliding_window", 4096), [=](int64_t i) { return (i + 1) % every != 0; });
  const auto all = std::make_shared<Rope>(c.rope("full_attention", "rope_theta", 1e6), p.attention.head_dim, p.longest);
  const auto near =
      std::make_shared<Rope>(c.rope("sliding_attention", "rope_local_base_freq", 1e4), p.attention.head_dim, p.longest);
  for (size_t i = 0; i < p.ropes.size(); ++i) p.ropes[i] = p.windows[i] ? near : all;
  return p;
}

}  // namespace

Config with_gemma3s_usual(Config c) {
  c.usually("vocab_size", 262208).usually("num_attention_heads", 8).usually("num_key_value_heads", 4);
  return c.usually("max_position_embeddings", 131072);
}

extern const Family gemma{"gemma", make_with<gemma_plan>};
extern const Family gemma2{"gemma2", make_with<gemma2_plan>};
extern const Family gemma3{"gemma3", make_with<gemma3_plan>};
extern const Family gemma3_text{"gemma3_text", make_with<gemma3_plan>};

}  // namespace dyadic::inline v1::models
