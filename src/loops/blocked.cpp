#include "loops/blocked.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/check.h"
#include "base/parallel.h"
#include "device/backend.h"
#include "formats/packed.h"
#include "loops/pointwise.h"
#include "loops/stored.h"
#include "loops/stream_kernel.h"
#include "tensor/step_watcher.h"
#include "tensor/transfer.h"

namespace dyadic::inline v1 {
namespace {

DType compute_of(const Format& f) { return DType(&compute_format(f.compute())); }

bool is_whole(const Operand& o) { return o.dense && o.count == o.geometry.numel(); }

// The span of storage order that a view touches.
std::pair<int64_t, int64_t> span_of(const Operand& o) {
  int64_t low = o.offset, high = o.offset;
  for (int d = 0; d < o.ndim; ++d) (o.steps[d] < 0 ? low : high) += o.steps[d] * (o.lengths[d] - 1);
  return {low, o.count ? high + 1 : low};
}
int64_t decoded_bytes(const Format& f, int64_t low, int64_t high) {
  return ((high - low) * compute_size(f.compute()) + 63) / 64 * 64;
}

// Elements [low, high) of storage order as values of `to`, a tile of them at a time: decoded, converted, written.
void decode_into(const Operand& o, const void* storage, int64_t low, int64_t high, const Format& to, char* out,
                 const Round& round = {}) {
  const Format &f = *o.format, &computed = compute_format(f.compute());
  const int64_t span = high - low, size = to.itemsize();
  constexpr int64_t kChunk = 64 << 10, kTile = 512;  // whole blocks of every format
  const auto decode = [&](int64_t from, int64_t last, char* into) {
    decode_elements(f, storage, o.geometry, low + from, low + last, into);
  };
  const bool stream = span * size >= stream_bytes(), straight = &to == &computed;
  parallel_for((span + kChunk - 1) / kChunk, 1, [&](int64_t b, int64_t e) {
    const int64_t from = b * kChunk, last = std::min(span, e * kChunk);
    if (!stream && straight) return decode(from, last, out + from * size);
    alignas(64) char tile[kTile * 8], converted[kTile * 16];
    for (int64_t i = from; i < last; i += kTile) {
      const int64_t n = std::min(kTile, last - i);
      decode(i, i + n, tile);
      char* values = straight ? tile : stream ? converted : out + i * size;
      if (!straight) {
        Round r = round;
        r.index += uint64_t(i);
        convert(computed, tile, to, values, n, r);
      }
      if (stream) stream_kernel().write(out + i * size, values, n * size);
    }
    if (stream) stream_kernel().flush();
  });
}

// A view of a blocked tensor, decoded: strides are those of the span it touches.
Operand decoded(const Operand& o) {
  Operand values = o;
  values.format = &compute_format(o.format->compute());
  values.offset = 0, values.geometry = {};
  return values;
}

// Row by row along the dimension in which src's elements lie closest together; along the last one where rounding draws by the
// element's number.
void decode_rows(const Array& dst, const Array& src, const Round& round) {
  if (dst.count == 0) return;
  int inner = src.ndim - 1;
  for (int d = 0; d < src.ndim && round.mode == Rounding::nearest; ++d)
    if (src.lengths[d] > 1 && (src.lengths[inner] == 1 || std::abs(src.steps[d]) < std::abs(src.steps[inner]))) inner = d;
  const int64_t n = src.ndim ? src.lengths[inner] : 1, step = src.ndim ? src.steps[inner] : 1, rows = src.count / n;
  const Stored stored{src.format, &compute_format(src.format->compute()), src.geometry};
  parallel_for(rows, std::max<int64_t>(1, (32 << 10) / n), [&](int64_t begin, int64_t end) {
    constexpr int64_t kTile = 1024;
    alignas(64) char tile[kTile * 8];
    for (int64_t r = begin; r < end; ++r) {
      int64_t from = src.offset, to = 0, rest = r;
      for (int d = src.ndim - 1; d >= 0; --d) {
        if (d == inner) continue;
        const int64_t i = rest % src.lengths[d];
        from += i * src.steps[d], to += i * dst.steps[d], rest /= src.lengths[d];
      }
      for (int64_t i = 0; i < n; i += kTile) {
        const int64_t count = std::min(kTile, n - i), sizes[] = {count}, one[] = {1};
        const int64_t apart[] = {src.ndim ? dst.steps[inner] : 1};
        read_stored(stored, src.at, from + i * step, step, count, tile);
        Round drawn = round;
        drawn.index += uint64_t(r * n + i);
        const Array values(sizes, DType(stored.as), tile);
        copy_elements(dst.view(sizes, apart, to + i * apart[0]), values.view(sizes, one), drawn);
      }
    }
  });
}

}  // namespace

void assign(const Array& dst, const Array& src) {
  src.format->is_blocked() ? decode_rows(dst, src, {}) : copy_elements(dst, src);
}

Tensor decode_blocked(const Tensor& t) {
  note_refusal("packed numbers that are decoded first");
  const TensorImpl& i = *t.impl();
  const Operand o(i);
  const auto [low, high] = span_of(o);
  if (t.device().is_cuda()) {
    const Tensor values = make_tensor(t.sizes(), compute_of(*o.format), t.device());
    assign(values, t);
    return values;
  }
  Tensor flat = make_tensor({high - low}, compute_of(*o.format), t.device());
  if (!t.is_meta()) decode_into(o, i.data(), low, high, *flat.dtype().format(), flat.impl()->data());
  return make_view(flat, i.shape(), {i.strides, i.ndim}, i.offset - low);
}

Tensor brought(const Tensor& t, Device to) {
  if (t.device() == to || t.is_contiguous() || t.dtype().is_blocked()) return moved(t, to);
  const Tensor dense = make_tensor(t.sizes(), t.dtype(), t.device());
  assign(dense, t);
  return moved(dense, to);
}

void read_values(const Tensor& t, void* out) {
  if (t.device().is_cuda()) { return read_values(brought(t.dtype().is_blocked() ? decode_blocked(t) : t, cpu), out); }
  Tensor source = t.dtype().is_blocked() ? decode_blocked(t) : t;
  Tensor target = make_over(out, t.sizes(), compute_of(*source.dtype().format()));
  copy_elements(target, source);
}

Assignment::Assignment(const Operand& dst, const Operand& src) : to_(dst), from_(src), values_(src) {
  if (src.format->is_blocked()) {
    values_ = decoded(src);
    if (!dst.format->is_blocked() && dst.sizes() == src.sizes()) {
      way_ = dst.dense && src.dense ? Way::decode : Way::decode_rows;
      return;
    }
    decodes_ = true;
    std::tie(low_, high_) = span_of(src);
    workspace = decoded_bytes_ = decoded_bytes(*src.format, low_, high_);
  }
  if (dst.format->is_blocked()) plan_encoding();
}

void Assignment::plan_encoding() {
  const Format& f = *to_.format;
  DY_CHECK(!f.is_scaled() || is_whole(to_),
           "copy_: a part of a scaled tensor is written: {} is {} of the {} elements of its storage; write the whole tensor",
           to_.dtype().name() + shape_text(to_.sizes()), to_.count, to_.geometry.numel());
  if (!is_whole(to_)) {
    way_ = Way::encode_part;
    const int64_t numel = to_.geometry.numel(), sizes[] = {numel};
    whole_ = Operand(sizes, compute_of(f));
    workspace += decoded_bytes(f, 0, numel);
    return;
  }
  if (from_.format == &f && is_whole(from_) && from_.sizes() == to_.sizes() && from_.geometry.cols == to_.geometry.cols) {
    way_ = Way::codes;  // the same: encoding again need not give them
    workspace = 0;
    return;
  }
  // Rows of blocks that know nothing of each other, from as many elements in the same order.
  constexpr int64_t kPiece = 4 << 20;
  if (f.def->block_bytes && from_.dense && from_.sizes() == to_.sizes() && from_.dtype() != f32 && to_.count > kPiece) {
    way_ = Way::encode_pieces;
    piece_rows_ = std::max<int64_t>(1, kPiece / to_.geometry.cols);
    workspace = (piece_rows_ * to_.geometry.cols * int64_t(sizeof(float)) + 63) / 64 * 64;
    return;
  }
  way_ = Way::encode;
  const DType wanted = f.is_scaled() ? f32 : values_.dtype();
  if (values_.dtype() == wanted && values_.dense && values_.sizes() == to_.sizes()) return;
  whole_ = Operand(to_.sizes(), wanted);
  workspace += (whole_.count * whole_.itemsize() + 63) / 64 * 64;
}

void Assignment::encode(const Array& values, void* dst, const Round& round) const {
  const Format& f = *to_.format;
  if (f.is_scaled())
    encode_scaled(f, values.data<float>(), dst, to_.geometry, round);
  else
    encode_packed(*values.format, values.at, f, dst, to_.geometry.numel(), round);
}

void Assignment::encode_pieces(char* dst, const char* src, char* room, const Round& round) const {
  const Format& f = *to_.format;
  const auto [rows, cols] = to_.geometry;
  for (int64_t row = 0; row < rows; row += piece_rows_) {
    const int64_t n = std::min(piece_rows_, rows - row), begin = row * cols, count = n * cols, sizes[] = {count};
    if (decodes_)
      decode_into(from_, src, from_.offset + begin, from_.offset + begin + count, *f32.format(), room);
    else
      copy_elements(Array(sizes, f32, room), Array(sizes, from_.dtype(), const_cast<char*>(src) + begin * from_.itemsize()));
    Round drawn = round;
    drawn.index += uint64_t(begin);
    encode_scaled(f, reinterpret_cast<const float*>(room), dst + begin / f.row_step() * f.def->block_bytes, {n, cols}, drawn);
  }
}

void Assignment::run(void* dst, const void* src, void* workspace, const Round& round) const {
  if (way_ == Way::decode)
    return decode_into(from_, src, from_.offset, from_.offset + from_.count, *to_.format, static_cast<char*>(dst), round);
  if (way_ == Way::decode_rows) return decode_rows(Array(to_, dst), Array(from_, src), round);
  if (way_ == Way::codes) {
    std::memcpy(dst, src, size_t(planes_of(*to_.format, to_.geometry).buffer_bytes));
    return;
  }
  char* room = static_cast<char*>(workspace);
  if (way_ == Way::encode_pieces) return encode_pieces(static_cast<char*>(dst), static_cast<const char*>(src), room, round);
  Array values(values_, src);
  if (decodes_) {
    decode_into(from_, src, low_, high_, *values_.format, room);
    values.at = room + (from_.offset - low_) * values.itemsize();
    room += decoded_bytes_;
  }
  if (way_ == Way::copy) return copy_elements(Array(to_, dst), values, round);
  if (!whole_.defined()) return encode(values, dst, round);
  const Array whole(whole_, static_cast<void*>(room));
  if (way_ == Way::encode_part) {
    decode_into(to_, dst, 0, to_.geometry.numel(), *whole_.format, room);
    copy_elements(whole.view(to_.sizes(), to_.strides(), to_.offset), values);
  } else {
    copy_elements(whole, values);
  }
  encode(whole, dst, round);
}

namespace {

// Both on a device. What it has no kernel for goes by the host.
void assign_there(const Tensor& dst, const Tensor& src, const Round& round) {
  Backend& b = backend();
  b.use(int(dst.device().index()), "copy_");
  const Array target(dst), source(src);
  CategoryScope scope(Category::workspace);
  if (const int64_t room = b.assign_room(target, source); room >= 0) {
    const int64_t sizes[] = {room};
    return b.assign(target, source, round, make_tensor(sizes, u8, dst.device()).impl()->place());
  }
  const auto all = [](const Tensor& t) {  // the whole storage, seen as t
    const TensorImpl& i = *t.impl();
    if (i.dtype.is_blocked()) return moved(t, cpu);
    return make_view(moved(storage_row(t, t.dtype()), cpu), t.sizes(), t.strides(), i.offset);
  };
  const Tensor to = all(dst);
  assign(to, all(src), round);
  b.copy(dst.device(), dst.impl()->storage->remote, cpu, to.impl()->storage->data, dst.impl()->storage->charged);
}

}  // namespace

void assign(const Tensor& dst, const Tensor& src, const Round& round) {
  if (dst.is_meta()) return;
  if (src.device() != dst.device()) {
    const CategoryScope scope(Category::workspace);
    return assign(dst, brought(src, dst.device()), round);
  }
  if (dst.device().is_cuda()) return assign_there(dst, src, round);
  note_refusal("a copy that is no call");
  if (!dst.dtype().is_blocked() && !src.dtype().is_blocked()) return copy_elements(dst, src, round);
  const Assignment plan(Operand(*dst.impl()), Operand(*src.impl()));
  CategoryScope scope(Category::workspace);
  const int64_t bytes[] = {plan.workspace};
  Tensor room = plan.workspace ? make_tensor(bytes, u8, cpu) : Tensor();
  plan.run(dst.impl()->data(), src.impl()->data(), room.defined() ? room.impl()->data() : nullptr, round);
}

}  // namespace dyadic::inline v1
