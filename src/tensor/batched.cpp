#include "tensor/batched.h"

#include <algorithm>

#include "base/check.h"

namespace dyadic::inline v1 {

constinit thread_local BatchLevel* t_batch_level = nullptr;

void release_batch(void* batch) { delete static_cast<Batch*>(batch); }

namespace {

// With another dimension before the others.
Tensor with_first(const Tensor& memory, const TensorImpl& t, int64_t size, int64_t stride) {
  DY_CHECK_AS(ValueError, t.ndim < kMaxDims, "vmap: too many dimensions: an entry has {}, and there are at most {}", t.ndim,
              kMaxDims);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  sizes[0] = size, strides[0] = stride;
  std::copy_n(t.sizes, t.ndim, sizes + 1);
  std::copy_n(t.strides, t.ndim, strides + 1);
  const size_t n = size_t(t.ndim) + 1;
  Tensor whole = make_view(memory, {sizes, n}, {strides, n}, t.offset);
  whole.impl()->dtype = t.dtype;
  return whole;
}

}  // namespace

Tensor make_batched(const Tensor& whole, const LevelPtr& level) {
  const TensorImpl& w = *whole.impl();
  const bool own = !w.node && !w.meta && !w.base;  // nobody else's tensor
  const size_t n = size_t(w.ndim) - 1;
  auto batch = std::make_unique<Batch>(
      Batch{own ? whole : make_view(whole, w.shape(), {w.strides, w.ndim}, w.offset), w.strides[0], level});
  Tensor entry = make_foreign_view(nullptr, {w.sizes + 1, n}, w.dtype, release_batch, batch.get());
  batch.release();
  TensorImpl& e = *entry.impl();
  e.storage->device = w.storage->device;
  e.storage->geometry = w.storage->geometry;
  std::copy_n(w.strides + 1, n, e.strides);
  e.offset = w.offset;
  e.flags |= w.flags & kUncounted;
  set_flags(e);
  if (!e.contiguous() || e.offset) e.storage->bytes = w.storage->bytes;  // it reaches further than its elements
  return entry;
}

Tensor whole_of(const Tensor& t) {
  const Batch& b = *entries_of(t);
  int64_t stride = b.stride;
  if (const DType kept = b.memory.dtype(); kept != t.dtype()) stride = stride * kept.itemsize() / t.dtype().itemsize();
  return with_first(b.memory, *t.impl(), b.level->size, stride);
}

Tensor repeated(const Tensor& t, int64_t entries) { return with_first(t, *t.impl(), entries, 0); }

void refuse_values(const Batch& b) {
  if (!b.level->active)
    throw Error("vmap: a tensor of one of its calls has been kept, and is read after the end; return it from the function");
  throw Error(
      "vmap: the values of a batched tensor are asked for, which has as many as there are entries: item(), bool(), tolist(), "
      "numpy(), shapes and control flow that depend on values; write it with where() and operations of tensors, or call the "
      "function in a loop");
}

}  // namespace dyadic::inline v1
