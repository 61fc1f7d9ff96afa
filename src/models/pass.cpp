#include "models/pass.h"

#include "base/check.h"
#include "dyadic/numbers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {

Pass::Pass(const Tensor& ids, Cache* cache, const Tensor& pad, DType dtype)
    : tokens(ids.size(1)),
      past(cache ? cache->length() : 0),
      cache(cache),
      length_(std::max(past + tokens, cache ? cache->expected() : 0)),
      dtype_(dtype),
      device_(ids.device()) {
  if (!pad.defined()) return;
  if (pad.dim() == 2) {
    begin_texts(pad);
    return;
  }
  DY_CHECK_AS(ValueError, pad.dtype() == i64 && pad.dim() == 1 && pad.size(0) == ids.size(0),
              "{}: padding is i64 [B], a number for each row of ids", "CausalLM");
  const auto least = int64_t(amin(pad).item()), most = int64_t(amax(pad).item());
  DY_CHECK_AS(ValueError, least >= 0, "CausalLM: padding is {}, below 0", least);
  if (most == 0) return;
  pad_ = unsqueeze(pad, 1);
  length_ = std::max<int64_t>(length_ - least, 1);
}

void Pass::begin_texts(const Tensor& starts) {
  DY_CHECK_AS(ValueError, !cache && starts.dtype() == i64 && starts.size(1) == tokens,
              "CausalLM: starts of texts are i64 [B, T], as ids, and go with no cache: starts is {}, T is {}", describe(starts),
              tokens);
  pad_ = starts;
  if (starts.is_meta()) return;
  // Without calls: a forward on meta, by which one is planned, has none here either.
  const Tensor here = starts.to(cpu).contiguous();
  const auto* start = here.data<int64_t>();
  int64_t longest = 0;
  for (int64_t i = 0; i < here.numel(); ++i) {
    const int64_t place = i % tokens - start[i];
    DY_CHECK_AS(ValueError, place >= 0 && start[i] >= 0, "CausalLM: a text begins after its token, or before 0, in starts {}",
                describe(starts));
    longest = std::max(longest, place);
  }
  length_ = longest + 1;
}

Tensor Pass::positions(int64_t first, int64_t count) const {
  const Tensor all = arange(first, first + count, int64_t(1), i64, device_);
  return pad_.defined() ? clamp_min(all - pad_, 0) : all;
}

Tensor Pass::without_padding(const Tensor& x) const {
  if (!pad_.defined()) return x;
  DY_CHECK_AS(ValueError, pad_.size(1) == 1 || tokens == 1,
              "CausalLM: a recurrent layer cannot keep several texts of a row apart: give each a row of its own (no packing)");
  const Tensor padded = lt(arange(past, past + tokens, int64_t(1), i64, device_), pad_);
  return masked_fill(x, unsqueeze(padded, -1), 0);
}

const std::pair<Tensor, Tensor>& Pass::angles(const Rope& rope, int64_t first, int64_t count) {
  const NoGrad constant;
  auto& found = turns_[{&rope, first, count}];
  if (found.first.defined()) return found;
  const std::vector<float> speeds = rope.speeds(length_);
  const Tensor speed = from_data(speeds.data(), {int64_t(speeds.size())}, f32).to(device_);
  Tensor angle = unsqueeze(positions(first, count).to(f32), -1) * speed;
  if (angle.dim() == 3) angle = unsqueeze(angle, 1);  // for all heads
  return found = {(cos(angle) * rope.factor()).to(dtype_), (sin(angle) * rope.factor()).to(dtype_)};
}

Tensor Pass::turned(const Tensor& x, const Rope& rope, int64_t first) {
  const auto& [cosine, sine] = angles(rope, first, x.size(2));
  return rotary_embedding(x.to(cosine.dtype()), cosine, sine);  // autocast makes queries of 16 bits; angles are the model's
}

Tensor Pass::mask(int64_t window, int64_t first, int64_t count) {
  const bool all_seen = tokens == 1 && !pad_.defined() && (window == 0 || count <= window);
  if (all_seen) return {};
  Tensor& m = masks_[{window, first, count}];
  if (!m.defined()) m = make_mask(window, first, count);
  return m;
}

Tensor Pass::make_mask(int64_t window, int64_t first, int64_t count) const {
  const Tensor queries = unsqueeze(arange(past, past + tokens, int64_t(1), i64, device_), 1);
  const Tensor keys = arange(first, first + count, int64_t(1), i64, device_);
  Tensor seen = le(keys, queries);
  if (window > 0) seen = logical_and(seen, gt(keys, queries - window));
  if (!pad_.defined()) return seen;
  // What stands in for no token sees itself alone: a row that sees nothing would be NaN, and what is not seen would be 0 x NaN.
  const Tensor real = unsqueeze(ge(keys, unsqueeze(pad_, -1)), 1);  // [B, 1, 1 or T, keys]
  return logical_or(logical_and(real, seen), eq(keys, queries));
}

}  // namespace dyadic::inline v1::models
