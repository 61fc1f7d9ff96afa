#include "tensor/transfer.h"

#include "base/check.h"
#include "device/backend.h"
#include "formats/packed.h"

namespace dyadic::inline v1 {
namespace {

// What a whole storage of a blocked dtype takes; of others the elements.
int64_t bytes_of(const TensorImpl& t) {
  if (t.dtype.is_blocked()) return planes_of(*t.dtype.format(), t.storage->geometry).buffer_bytes;
  return t.numel * t.dtype.itemsize();
}

}  // namespace

void move_bytes(const Tensor& target, const Tensor& source) {
  const TensorImpl &to = *target.impl(), &from = *source.impl();
  DY_ASSERT(to.dtype == from.dtype && bytes_of(to) == bytes_of(from));
  copy_bytes(to.device(), to.place(), from.device(), from.place(), bytes_of(to));
}

Tensor moved(const Tensor& t, Device to) {
  if (t.device() == to) return t;
  const TensorImpl& from = *t.impl();
  if (!t.dtype().is_blocked()) {
    DY_ASSERT(from.contiguous());
    const Tensor made = make_tensor(t.sizes(), t.dtype(), to);
    move_bytes(made, t);
    return made;
  }
  const Geometry g = from.storage->geometry;
  const int64_t whole[] = {g.rows, g.cols};
  const Tensor made = make_tensor(whole, t.dtype(), to);
  move_bytes(made, t);
  return make_view(made, t.sizes(), t.strides(), from.offset);
}

Tensor storage_row(const Tensor& t, DType dtype) {
  const int64_t none[] = {0}, strides[] = {1};
  Tensor row = make_view(t, none, strides, 0);  // empty: no block is cut
  row.impl()->dtype = dtype;
  row.impl()->sizes[0] = t.impl()->storage->bytes / dtype.itemsize();
  set_flags(*row.impl());
  return row;
}

}  // namespace dyadic::inline v1
