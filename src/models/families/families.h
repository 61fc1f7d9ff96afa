// The families of models there are. Each file here is one or a few near relatives.
#pragma once
#include "models/decoder.h"

namespace dyadic::inline v1::models {

extern const Family llama, mistral, ministral3, smollm3, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma, gemma2, gemma3, gemma3_text,
    phi3, mixtral, gpt_oss, olmo2, olmo3, granite, gpt2;

// Windows by "layer_types", or where the configuration has none by each layer's number.
template <class F> void set_windows(Plan& p, const Config& c, int64_t window, F slides) {
  const std::vector<std::string> types = c.layer_types(p.layers);
  for (int64_t i = 0; i < p.layers; ++i)
    if (types.empty() ? slides(i) : types[size_t(i)] == "sliding_attention") p.windows[size_t(i)] = window;
}

}  // namespace dyadic::inline v1::models
