// SentencePiece's BPE: no list of merges; of all neighbours whose text is a token those with the highest score are merged
// first.
#pragma once
#include <memory>
#include <vector>

#include "text/stages.h"

namespace dyadic::inline v1::text {

// Types and `unknown` (-1: none) as a GGUF file has them.
std::unique_ptr<Model> make_spm(Vocabulary vocabulary, std::vector<float> scores, const std::vector<int32_t>& types,
                                int64_t unknown);

}  // namespace dyadic::inline v1::text
