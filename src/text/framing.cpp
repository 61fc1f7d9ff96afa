// A text or two with the tokens that frame them: which stand where, to which text each counts, and what goes where they are too
// many.
#include <algorithm>

#include "base/check.h"
#include "text/tokenizer_state.h"

namespace dyadic::inline v1 {

// How many tokens of each text stay, so that they are `most` together.
static std::pair<size_t, size_t> kept(size_t a, size_t b, size_t most, const EncodeOptions& o, bool two) {
  if (a + b <= most) return {a, b};
  if (most == 0) return {0, 0};
  if (o.truncation == Truncation::only_first) {
    DY_CHECK_AS(ValueError, b <= most, "truncation: the second text alone has {} tokens, and there is place for {}", b, most);
    return {most - b, b};
  }
  if (o.truncation == Truncation::only_second) {
    DY_CHECK_AS(ValueError, two, "truncation: only_second: there is one text");
    DY_CHECK_AS(ValueError, a <= most, "truncation: the first text alone has {} tokens, and there is place for {}", a, most);
    return {a, most - a};
  }
  const size_t less = std::min(a, b), half = most / 2;
  if (!two || less <= half) return a < b ? std::pair{a, most - a} : std::pair{most - b, b};
  return a > b ? std::pair{most - half, half} : std::pair{half, most - half};
}

Encoding Tokenizer::encode_full(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& o) const {
  std::vector<int64_t> texts[2] = {encode(text, false), {}};
  if (pair) texts[1] = encode(*pair, false);
  const text::Frame& f = state_->frame;
  using Part = text::FramePart;
  std::vector<Part> parts{{.text = 0}};
  if (pair) parts.push_back({.text = 1, .type = 1});
  DY_CHECK_AS(ValueError, !o.add_special_tokens || !pair || !f.several,
              "encode: the tokenizer frames a text in several steps: what stands around two is not known");
  if (const auto& own = pair ? f.pair : f.single; !own.empty()) parts = own;
  if (!o.add_special_tokens) std::erase_if(parts, [](const Part& p) { return p.text < 0; });
  if (o.max_length) {
    size_t around = 0;
    for (const Part& p : parts) around += p.ids.size();
    const auto most = size_t(std::max<int64_t>(*o.max_length, 0));
    DY_CHECK_AS(ValueError, around <= most,
                "truncation: max_length is {}, and {} tokens stand around a text; give more, or add_special_tokens=False",
                *o.max_length, around);
    const auto [a, b] = kept(texts[0].size(), texts[1].size(), most - around, o, pair.has_value());
    texts[0].resize(a), texts[1].resize(b);
  }
  Encoding e;
  for (const Part& p : parts) {
    const std::vector<int64_t>& ids = p.text < 0 ? p.ids : texts[p.text];
    e.ids.insert(e.ids.end(), ids.begin(), ids.end());
    e.type_ids.resize(e.ids.size(), p.type), e.special.resize(e.ids.size(), p.text < 0);
  }
  return e;
}

}  // namespace dyadic::inline v1
