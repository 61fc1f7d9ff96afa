#include "dyadic/planes.h"

#include "base/check.h"
#include "formats/packed.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

bool is_whole(const TensorImpl& t) {
  return t.contiguous() &&
         (t.dtype.is_blocked() ? t.numel == t.storage->geometry.numel() : t.numel * t.dtype.itemsize() == t.storage->bytes);
}

// A tensor over a part of another's memory, which it keeps alive.
Tensor alias(const TensorImpl& t, const char* data, IntList sizes, DType dtype) {
  retain(t.storage);
  return make_foreign_view(
      const_cast<char*>(data), sizes, dtype, [](void* s) { release(static_cast<Storage*>(s)); }, t.storage);
}

// Elements and bytes of the smallest piece of a blocked dtype that is whole bytes of one plane; 0: it has several planes.
struct Piece {
  int64_t elements, bytes;
};
Piece piece_of(DType d) {
  const Format& f = *d.format();
  if (!f.is_scaled()) return f.def->bits == 6 ? Piece{4, 3} : Piece{8 / f.def->bits, 1};
  if (!f.def->block_bytes) return {0, 0};
  return {f.row_step(), planes_of(f, {1, f.row_step()}).bytes};
}

Tensor plain_view(const Tensor& t, DType dtype) {
  const TensorImpl& i = *t.impl();
  const int64_t from = i.dtype.itemsize(), to = dtype.itemsize();
  int64_t sizes[kMaxDims], strides[kMaxDims], offset = i.offset;
  std::copy(i.sizes, i.sizes + i.ndim, sizes);
  std::copy(i.strides, i.strides + i.ndim, strides);
  if (from != to) {
    const int last = i.ndim - 1;
    DY_CHECK_AS(ValueError, i.ndim > 0 && (i.strides[last] == 1 || i.sizes[last] == 1),
                "view: the bytes of the last dimension do not lie side by side: self is {}, dtype {}; use contiguous() first",
                describe(t), dtype.name());
    bool fits = sizes[last] * from % to == 0 && offset * from % to == 0;
    for (int d = 0; d < last; ++d) fits &= strides[d] * from % to == 0, strides[d] = strides[d] * from / to;
    DY_CHECK_AS(ValueError, fits, "view: the bytes are not whole elements: self is {}, dtype {} has {} bytes an element",
                describe(t), dtype.name(), to);
    sizes[last] = sizes[last] * from / to;
    strides[last] = 1;
    offset = offset * from / to;
  }
  Tensor out = make_view(t, {sizes, i.ndim}, {strides, i.ndim}, offset);
  out.impl()->dtype = dtype;
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> planes(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  DY_CHECK_AS(ValueError, t.device().is_cpu(), "planes: a tensor on {} has no data here: self is {}", t.device().name(),
              describe(t));
  DY_CHECK_AS(ValueError, is_whole(i), "planes: a view is not the whole of its storage: self is {}; use clone() first",
              describe(t));
  if (!i.dtype.is_blocked()) return {{"values", make_view(t, {i.numel}, {1}, i.offset)}};
  const PlaneList list = planes_of(*i.dtype.format(), i.storage->geometry);
  std::vector<std::pair<std::string, Tensor>> out;
  for (int p = 0; p < list.count; ++p) {
    const Plane& plane = list.plane[size_t(p)];
    out.emplace_back(plane.name,
                     alias(i, i.data() + plane.offset, {plane.bytes / plane.dtype->itemsize()}, DType(plane.dtype)));
  }
  return out;
}

Tensor view_as(const Tensor& t, DType dtype) {
  const TensorImpl& i = *t.impl();
  if (dtype == i.dtype) return make_view(t, t.sizes(), t.strides(), i.offset);
  if (!dtype.is_blocked() && !i.dtype.is_blocked()) return plain_view(t, dtype);
  const bool packs = dtype.is_blocked();
  const DType blocked = packs ? dtype : i.dtype;
  const Piece piece = piece_of(blocked);
  DY_CHECK_AS(ValueError, (packs ? i.dtype : dtype) == u8, "view: only the bytes of a uint8 tensor are seen as {}: {}",
              blocked.name(), packs ? "self is " + describe(t) : "the dtype wanted is " + dtype.name());
  DY_CHECK_AS(ValueError, piece.elements > 0, "view: {} has several planes; use planes() or .to", blocked.name());
  const int64_t last = i.ndim ? i.sizes[i.ndim - 1] : 1, unit = packs ? piece.bytes : piece.elements;
  DY_CHECK_AS(ValueError, i.ndim > 0 && last % unit == 0,
              "view: the last dimension is not whole blocks: self is {}; {} has {} {}", describe(t), blocked.name(), unit,
              packs ? "bytes a block" : "elements a block");
  DY_CHECK_AS(ValueError, t.device().is_cpu() && (packs ? i.contiguous() : is_whole(i)),
              "view: the bytes do not lie side by side: self is {}; use clone() first", describe(t));
  int64_t sizes[kMaxDims];
  std::copy(i.sizes, i.sizes + i.ndim, sizes);
  sizes[i.ndim - 1] = last / unit * (packs ? piece.elements : piece.bytes);
  return alias(i, i.data(), {sizes, i.ndim}, dtype);
}

}  // namespace dyadic::inline v1
