#include "loops/blocked.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "formats/packed.h"
#include "loops/pointwise.h"
#include "loops/stream_kernel.h"

namespace dyadic::inline v1 {
namespace {

DType compute_of(const Format& f) { return DType(&compute_format(f.compute())); }

bool is_whole(const TensorImpl& t) { return t.contiguous() && t.numel == t.storage->geometry.numel(); }

// Elements [low, high) of storage order, in the compute type.
void decode_into(const TensorImpl& t, int64_t low, int64_t high, char* out) {
  const Format& f = *t.dtype.format();
  const int64_t span = high - low, size = compute_size(f.compute());
  constexpr int64_t kChunk = 64 << 10, kTile = 512;  // whole blocks of every format
  auto decode = [&](int64_t from, int64_t to, char* into) {
    decode_elements(f, t.storage->data, t.storage->geometry, low + from, low + to, into);
  };
  const bool stream = span * size >= stream_bytes();
  parallel_for((span + kChunk - 1) / kChunk, 1, [&](int64_t b, int64_t e) {
    const int64_t from = b * kChunk, to = std::min(span, e * kChunk);
    if (!stream) return decode(from, to, out + from * size);
    alignas(64) char tile[kTile * 8];
    for (int64_t i = from; i < to; i += kTile) {
      const int64_t n = std::min(kTile, to - i);
      decode(i, i + n, tile);
      stream_kernel().write(out + i * size, tile, n * size);
    }
    stream_kernel().flush();
  });
}
Tensor decode_span(const TensorImpl& t, int64_t low, int64_t high) {
  Tensor flat = make_tensor({high - low}, compute_of(*t.dtype.format()), t.device());
  if (!t.device().is_meta()) decode_into(t, low, high, flat.impl()->data());
  return flat;
}
// Where both are dense, of one shape, and dst has the compute type: without a tensor between.
bool decode_straight(const Tensor& dst, const Tensor& src) {
  const TensorImpl &d = *dst.impl(), &s = *src.impl();
  if (d.dtype != compute_of(*s.dtype.format()) || !d.contiguous() || !s.contiguous() || !(dst.sizes() == src.sizes()))
    return false;
  decode_into(s, s.offset, s.offset + s.numel, d.data());
  return true;
}

// Into the whole of a blocked tensor. `values` are of a dtype that is not.
void encode_whole(const TensorImpl& d, const Tensor& values, IntList sizes, const Round& round) {
  const Format& to = *d.dtype.format();
  CategoryScope scope(Category::workspace);
  const DType from = to.is_scaled() ? f32 : values.dtype();
  Tensor dense = values;
  if (dense.dtype() != from || !dense.is_contiguous() || !(dense.sizes() == sizes)) {
    dense = make_tensor(sizes, from, cpu);
    copy_elements(dense, values);
  }
  const char* in = dense.impl()->data();
  if (to.is_scaled())
    encode_scaled(to, reinterpret_cast<const float*>(in), d.storage->data, d.storage->geometry, round);
  else
    encode_packed(*from.format(), in, to, d.storage->data, d.storage->geometry.numel(), round);
}

}  // namespace

Tensor decode_blocked(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  int64_t low = i.offset, high = i.offset;  // the span of storage order it touches
  for (int d = 0; d < i.ndim; ++d) (i.strides[d] < 0 ? low : high) += i.strides[d] * (i.sizes[d] - 1);
  Tensor flat = decode_span(i, low, i.numel ? high + 1 : low);
  return make_view(flat, i.shape(), {i.strides, i.ndim}, i.offset - low);
}

void read_values(const Tensor& t, void* out) {
  Tensor source = t.dtype().is_blocked() ? decode_blocked(t) : t;
  Tensor target = make_over(out, t.sizes(), compute_of(*source.dtype().format()));
  copy_elements(target, source);
}

void assign(const Tensor& dst, const Tensor& src, const Round& round) {
  if (dst.is_meta()) return;
  const Format &to = *dst.dtype().format(), &from = *src.dtype().format();
  if (!to.is_blocked()) {
    if (from.is_blocked() && decode_straight(dst, src)) return;
    copy_elements(dst, from.is_blocked() ? decode_blocked(src) : src, round);
    return;
  }
  const TensorImpl &d = *dst.impl(), &f = *src.impl();
  DY_CHECK(!to.is_scaled() || is_whole(d),
           "copy_: a part of a scaled tensor is written: {} is {} of the {} elements of its storage; write the whole tensor",
           describe(dst), d.numel, d.storage->geometry.numel());
  if (&from == &to && is_whole(f) && is_whole(d) && src.sizes() == dst.sizes() &&
      f.storage->geometry.cols == d.storage->geometry.cols) {  // the same codes: encoding again need not give them
    std::memcpy(d.storage->data, f.storage->data, size_t(planes_of(to, d.storage->geometry).buffer_bytes));
    return;
  }
  CategoryScope scope(Category::workspace);
  Tensor values = from.is_blocked() ? decode_blocked(src) : src;
  if (is_whole(d)) return encode_whole(d, values, dst.sizes(), round);
  const int64_t numel = d.storage->geometry.numel();
  Tensor all = decode_span(d, 0, numel);
  copy_elements(make_view(all, d.shape(), {d.strides, d.ndim}, d.offset), values);
  encode_whole(d, all, {numel}, round);
}

}  // namespace dyadic::inline v1
