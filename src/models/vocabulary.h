// A tokenizer and a model that belong together.
#pragma once
#include <span>

#include "base/check.h"
#include "dyadic/models.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::models {

// ValueError for a token that the model has no embedding of.
inline void check_ids(const char* who, const CausalLM& m, const Tokenizer& tokenizer, std::span<const int64_t> ids) {
  const int64_t vocab = m.vocab_size();
  for (int64_t id : ids)
    DY_CHECK_AS(ValueError, vocab == 0 || id < vocab,
                "{}: token {} is none of the model's: the tokenizer has {} tokens and the model's vocabulary {}; take the "
                "model's own tokenizer",
                who, id, tokenizer.vocab_size(), vocab);
}

}  // namespace dyadic::inline v1::models
