// Keys and values of tokens seen. Room doubles; a window's keys move to the front when the room is used up, so that a token
// costs the same however long the text is.
#include "base/check.h"
#include "dyadic/models.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {

int64_t Cache::nbytes() const {
  int64_t bytes = 0;
  for (const Held& h : layers_)
    for (const Tensor* t : {&h.keys, &h.values, &h.recurrent.recent, &h.recurrent.memory})
      if (t->defined()) bytes += t->numel() * int64_t(t->dtype().itemsize());
  return bytes;
}

Cache::Seen Cache::append(size_t layer, const Tensor& keys, const Tensor& values, int64_t window) {
  const NoGrad guard;
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  Held& h = layers_[layer];
  const int64_t fresh = keys.size(2);
  if (window > 0) h.begin = std::max(h.begin, h.end - (window - 1));
  const int64_t kept = h.end - h.begin, needed = kept + fresh;
  const int64_t room = h.keys.defined() ? h.keys.size(2) : 0;
  if (h.keys.defined())
    DY_CHECK_AS(ValueError, h.keys.size(0) == keys.size(0) && h.keys.size(1) == keys.size(1) && h.keys.size(3) == keys.size(3),
                "Cache: it holds another batch or model: keys of [{}, {}, ..., {}], now {}", h.keys.size(0), h.keys.size(1),
                h.keys.size(3), describe(keys));
  if (h.end + fresh > room) {
    const bool moves = needed <= room && kept <= h.begin;  // the old place and the new one do not overlap
    const int64_t more =
        std::max<int64_t>(window > 0 ? std::min(reserve_, 2 * window) : reserve_, std::max<int64_t>(2 * needed, 32));
    const auto move = [&](Tensor& held, const Tensor& like) {
      Tensor place = moves ? held : empty({like.size(0), like.size(1), more, like.size(3)}, like.dtype(), like.device());
      if (kept > 0) narrow(place, 2, 0, kept).copy_(narrow(held, 2, h.begin, kept));
      held = place;
    };
    move(h.keys, keys), move(h.values, values);
    h.begin = 0, h.end = kept;
  }
  narrow(h.keys, 2, h.end, fresh).copy_(keys.detach());
  narrow(h.values, 2, h.end, fresh).copy_(values.detach());
  h.end += fresh;
  return {narrow(h.keys, 2, h.begin, needed), narrow(h.values, 2, h.begin, needed), length_ - kept};
}

Cache::Recurrent& Cache::recurrent(size_t layer, int64_t batch) {
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  Recurrent& r = layers_[layer].recurrent;
  DY_CHECK_AS(ValueError, !r.memory.defined() || r.memory.size(0) == batch,
              "Cache: it holds another batch: a state of {} rows, now {}", r.memory.size(0), batch);
  return r;
}

}  // namespace dyadic::inline v1::models
