// Keys and values of tokens seen. Room doubles; a window's keys move to the front when the room is used up, so that a token
// costs the same however long the text is.
#include "base/check.h"
#include "dyadic/models.h"
#include "models/rotation.h"
#include "tensor/impl.h"
#include "tensor/row_planes.h"

namespace dyadic::inline v1::models {
namespace {

// As it is kept. Floats too large for a narrow one become its largest: a single infinity would make a text's scores NaN.
Tensor encoded(const Tensor& x, DType format) {
  if (!format || format == x.dtype()) return x.detach();
  return format.is_scaled() ? x.detach().to(format) : cast(x.detach(), format, "nearest", "saturate");
}
// Tokens [at, at + count) of `to`, which is the whole of its storage, become `from`'s [first, ...), likewise.
void copy_tokens(const Tensor& to, int64_t at, const Tensor& from, int64_t first, int64_t count) {
  if (to.is_meta()) return;
  const std::vector<Tensor> targets = row_planes(to), sources = row_planes(from);
  for (size_t p = 0; p < targets.size(); ++p) narrow(targets[p], 2, at, count).copy_(narrow(sources[p], 2, first, count));
}

}  // namespace

int64_t Cache::nbytes() const {
  int64_t bytes = 0;
  for (const Held& h : layers_)
    for (const Tensor* t : {&h.keys, &h.values, &h.recurrent.recent, &h.recurrent.memory})
      if (t->defined()) bytes += t->nbytes();
  return bytes;
}

Cache::Seen Cache::Seen::plain(DType dtype) const {
  return {rotated ? models::rotated(keys.to(dtype)) : keys.to(dtype), values.to(dtype), first};
}

Cache::Seen Cache::append(size_t layer, const Tensor& new_keys, const Tensor& new_values, int64_t window) {
  const NoGrad guard;
  KvFormats::check_width("keys", kv_.keys, new_keys.size(3)), KvFormats::check_width("values", kv_.values, new_values.size(3));
  const Tensor keys = encoded(kv_.rotates() ? rotated(new_keys) : new_keys, kv_.keys), values = encoded(new_values, kv_.values);
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
    const int64_t reserved = window > 0 ? std::min(reserve_, 2 * window) : reserve_;
    const int64_t more = reserved >= needed ? reserved : std::max<int64_t>(2 * needed, 32);
    const auto move = [&](Tensor& held, const Tensor& like) {
      Tensor place = moves ? held : empty({like.size(0), like.size(1), more, like.size(3)}, like.dtype(), like.device());
      if (kept > 0) copy_tokens(place, 0, held, h.begin, kept);
      held = place;
    };
    move(h.keys, keys), move(h.values, values);
    h.begin = 0, h.end = kept;
  }
  copy_tokens(h.keys, h.end, keys, 0, fresh), copy_tokens(h.values, h.end, values, 0, fresh);
  h.end += fresh;
  return {narrow(h.keys, 2, h.begin, needed), narrow(h.values, 2, h.begin, needed), length_ - kept, kv_.rotates()};
}

Cache::Recurrent& Cache::recurrent(size_t layer, int64_t batch) {
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  Recurrent& r = layers_[layer].recurrent;
  DY_CHECK_AS(ValueError, !r.memory.defined() || r.memory.size(0) == batch,
              "Cache: it holds another batch: a state of {} rows, now {}", r.memory.size(0), batch);
  return r;
}

}  // namespace dyadic::inline v1::models
