// What a loss may take for logits.
#pragma once
#include <cstdint>

namespace dyadic::inline v1::models {

// Logits that would take more bytes of f32 are made in bands of so many. Tests lower it.
extern int64_t g_most_logit_bytes;

}  // namespace dyadic::inline v1::models
