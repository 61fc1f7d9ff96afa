// What losses of language models agree on.
#pragma once
#include <cstdint>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::models {

inline constexpr int64_t kNoLabel = -100;  // a label that is passed over

// ValueError unless there is a number for each token.
void check_starts(const char* who, const Tensor& ids, const Tensor& starts);

// Logits that would take more bytes of f32 are made in bands of so many. Tests lower it.
extern int64_t g_most_logit_bytes;

}  // namespace dyadic::inline v1::models
