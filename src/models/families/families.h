// What the files of families have in common. Each file here is one or a few near relatives, and every `extern const Family` is
// a family that load knows (tools/generate/families.py).
#pragma once
#include "models/decoder.h"

namespace dyadic::inline v1::models {

Config with_gemma3s_usual(Config c);  // what files of Gemma 3 leave out

// Windows by "layer_types", or where the configuration has none by each layer's number.
template <class F> void set_windows(Plan& p, const Config& c, int64_t window, F slides) {
  const std::vector<std::string> types = c.layer_types(p.layers);
  for (int64_t i = 0; i < p.layers; ++i)
    if (types.empty() ? slides(i) : types[size_t(i)] == "sliding_attention") p.windows[size_t(i)] = window;
}

}  // namespace dyadic::inline v1::models
