// Chats as samples.
#pragma once
#include <nlohmann/json.hpp>

#include "dyadic/finetune.h"

namespace dyadic::inline v1::tune {

// What the assistant says of a chat is learned. One sample; or, where the template shows earlier answers otherwise than when
// they were given (Qwen3 leaves out what was thought), one for each answer. ValueError where nobody answers.
std::vector<Sample> chat_samples(const nlohmann::ordered_json& chat, const Tokenizer& tokenizer);

// How many ids both begin with.
size_t common_prefix(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace dyadic::inline v1::tune
