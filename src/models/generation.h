// What the generation of tokens and that of text share.
#pragma once
#include "dyadic/models.h"

namespace dyadic::inline v1::models {

// An empty one for a prompt of so many tokens and what follows it, in the formats that options or model say.
Cache make_cache(const CausalLM& m, int64_t prompt_tokens, const GenerateOptions& o);

}  // namespace dyadic::inline v1::models
