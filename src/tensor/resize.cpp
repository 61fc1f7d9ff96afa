#include "tensor/resize.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "device/backend.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {

void become_view(const Tensor& t, const Tensor& source) {
  structure_changed();
  note_refusal("a tensor gets other memory");
  TensorImpl& own = *t.impl();
  const TensorImpl& other = *source.impl();
  const Category category = own.storage->category;
  if (own.storage != other.storage) {
    retain(other.storage);
    release(own.storage);
    own.storage = other.storage;
    if (category == Category::parameter && other.storage->category == Category::temporary) set_category(t, category);
  }
  drop_base(own);
  own.dtype = other.dtype;
  own.ndim = other.ndim;
  own.offset = other.offset;
  std::copy_n(other.sizes, other.ndim, own.sizes);
  std::copy_n(other.strides, other.ndim, own.strides);
  set_flags(own);
}

void resize(const char* who, const Tensor& t, IntList sizes) {
  if (t.sizes() == sizes) return;
  if (t.is_cpu()) settle(*t.impl()->storage);
  DY_CHECK(!t.requires_grad(), "{}: a tensor that requires grad keeps its size: it is {}", who, describe(t));
  DY_CHECK_AS(TypeError, !t.dtype().is_blocked(), "{}: blocked tensors keep their size: it is {}", who, describe(t));
  const TensorImpl& own = *t.impl();
  const int64_t n = checked_numel(who, sizes), item = t.dtype().itemsize(), have = own.storage->bytes / item;
  int64_t all[] = {own.offset + n}, strides[kMaxDims], stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  const bool fits = all[0] <= have;
  Tensor memory = fits ? t : make_tensor(all, t.dtype(), t.device());
  if (!fits) copy_bytes(t.device(), memory.impl()->place(), t.device(), own.place() - own.offset * item, have * item);
  become_view(t, make_view(memory, sizes, {strides, sizes.size()}, own.offset));
}

void resize_result(const char* who, const Tensor& t, IntList sizes) {
  if (t.sizes() == sizes) return;
  if (t.numel() > 0)
    warn_once(fmt::format("{}: out is {} and gets the result's shape {}; give an empty tensor, or one of that shape", who,
                          describe(t), shape_text(sizes)));
  resize(who, t, sizes);
}

}  // namespace dyadic::inline v1
