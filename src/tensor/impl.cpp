// Storages and handles: how they are made, counted and freed.
#include "tensor/impl.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "base/check.h"
#include "device/heap.h"
#include "device/pages.h"
#include "formats/packed.h"
#include "tensor/batched.h"
#include "tensor/scaled_views.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {

static_assert(offsetof(TensorImpl, refs) == 0, "Tensor counts references through the first member");

void destroy_tape(TensorImpl& t) noexcept;  // corridor/tape.cpp: drops the node and the leaf's gradient

namespace {

void note_born(const Storage& s) {
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->born(s);
}

constexpr int64_t kHeader = (sizeof(Storage) + 63) / 64 * 64;

Storage* new_storage(int64_t bytes, Device device) {
  int64_t charged = rounded_bytes(bytes);
  ledger_add(device, t_category, t_module, charged);
  bool with_data = device.is_cpu() && charged <= int64_t(kPage) - kHeader;  // above, it would cost another page
  Storage* s = nullptr;
  try {
    s = new (pool_allocate(size_t(with_data ? kHeader + charged : kHeader))) Storage;
    (device.is_cuda() ? s->remote : s->data) =
        with_data ? reinterpret_cast<char*>(s) + kHeader : device_allocate(device, charged);
  } catch (...) {
    if (s) pool_release(s, size_t(kHeader));
    ledger_remove(device, t_category, t_module, charged);
    throw;
  }
  s->inline_data = with_data;
  s->inference = t_inference;
  s->category = t_category;
  s->module = t_module;
  s->device = device;
  s->bytes = bytes;
  s->charged = charged;
  note_born(*s);
  return s;
}

TensorImpl* new_impl() { return new (pool_allocate(sizeof(TensorImpl))) TensorImpl; }

// Of `numel` elements that lie without gaps, its sizes and strides not set yet. Takes over the storage.
[[gnu::always_inline]] inline TensorImpl* new_dense(Storage* s, DType dtype, int ndim, int64_t numel) {
  TensorImpl* t;
  try {
    t = new_impl();
  } catch (...) {
    release(s);
    throw;
  }
  t->storage = s;
  t->dtype = dtype;
  t->ndim = uint8_t(ndim);
  t->numel = numel;
  t->flags = kContiguous;
  return t;
}
[[gnu::always_inline]] inline Tensor dense_tensor(Storage* s, IntList sizes, DType dtype, int64_t numel) {
  TensorImpl* t = new_dense(s, dtype, int(sizes.size()), numel);
  int64_t stride = 1;
  for (int d = t->ndim - 1; d >= 0; --d) {
    t->sizes[d] = sizes[size_t(d)];
    t->strides[d] = stride;
    stride *= sizes[size_t(d)] > 0 ? sizes[size_t(d)] : 1;
  }
  return Tensor::adopt(t);
}

}  // namespace

void release(Storage* s) noexcept {
  if (!drop(s->refs)) return;
  if (g_step_watchers.load(std::memory_order_relaxed)) [[unlikely]]
    tell_died(*s);
  if (s->charged) ledger_remove(s->device, s->category, s->module, s->charged);
  if (s->free_foreign)
    s->free_foreign(s->foreign);
  else if (!s->inline_data && !s->deferred)
    device_release(s->device, s->remote ? s->remote : s->data, s->charged);
  int64_t size = s->inline_data ? kHeader + (s->charged ? s->charged : rounded_bytes(s->bytes)) : kHeader;
  s->~Storage();
  pool_release(s, size_t(size));
}

void set_base(TensorImpl& view, const TensorImpl& of) {
  auto* root = const_cast<TensorImpl*>(of.base ? of.base : &of);
  root->refs.fetch_add(1, std::memory_order_relaxed);
  view.base = root;
  view.flags |= kView | (of.flags & kOneOfMany);
  view.epoch = view.storage->rebases.load(std::memory_order_relaxed);
}
void drop_base(TensorImpl& view) {
  view.flags &= uint8_t(~(kView | kOneOfMany));
  if (TensorImpl* base = std::exchange(view.base, nullptr)) Tensor::adopt(base);
}

void (*g_release_face)(void* face) noexcept = nullptr;
constinit thread_local bool t_inference = false;

void Tensor::destroy(TensorImpl* p) noexcept {
  if (p->flags & kOwnsFace) {
    g_release_face(p->face);
    if (p->refs.load()) return;  // somebody holds the object: it keeps the tensor
  }
  if (p->node || p->meta) destroy_tape(*p);
  if (p->base) drop_base(*p);
  release(p->storage);
  pool_release(p, sizeof(TensorImpl));
}

int64_t checked_numel(const char* who, IntList sizes) {
  DY_CHECK_AS(ValueError, sizes.size() <= kMaxDims, "{}: too many dimensions: {} given; at most {}", who, sizes.size(),
              kMaxDims);
  int64_t n = 1;
  bool zero = false;
  for (int64_t s : sizes) {
    DY_CHECK(s >= 0, "{}: negative dimension: the size is {}", who, shape_text(sizes));
    zero |= s == 0;
  }
  if (zero) return 0;
  for (int64_t s : sizes)
    DY_CHECK_AS(ValueError, !__builtin_mul_overflow(n, s, &n) && n <= (int64_t(1) << 59),
                "{}: too large: {} has more elements than fit", who, shape_text(sizes));
  return n;
}

void set_flags(TensorImpl& t) {
  int64_t n = 1, expected = 1;
  bool dense = true;
  for (int d = t.ndim - 1; d >= 0; --d) {
    n *= t.sizes[d];
    if (t.sizes[d] != 1) {
      dense &= t.strides[d] == expected;
      expected *= t.sizes[d];
    }
  }
  t.numel = n;
  t.flags = uint8_t((t.flags & ~kContiguous) | (dense || n == 0 ? kContiguous : 0));
}

Tensor make_tensor(IntList sizes, DType dtype, Device device) {
  int64_t n = checked_numel("empty", sizes);
  const Format& f = *dtype.format();
  int64_t bytes, wanted;
  Geometry g{};
  if (f.is_blocked()) [[unlikely]] {
    g.cols = sizes.empty() ? 1 : sizes[sizes.size() - 1];
    g.rows = g.cols ? n / g.cols : 0;
    PlaneList planes = planes_of(f, g);
    bytes = planes.bytes;
    wanted = planes.buffer_bytes;
  } else {
    bytes = wanted = n * f.itemsize();
  }
  Storage* s = new_storage(wanted, device);
  s->bytes = bytes;
  s->geometry = g;
  return dense_tensor(s, sizes, dtype, n);
}

Tensor make_numbers(IntList sizes, DType dtype) {
  const int64_t n = checked_numel("empty", sizes), bytes = n * dtype.itemsize(), room = rounded_bytes(bytes);
  DY_CHECK(room <= kSmallLimit - kHeader, "numbers for a call: {} are too many", n);
  auto* s = new (pool_allocate(size_t(kHeader + room))) Storage;
  s->inline_data = true;
  s->data = reinterpret_cast<char*>(s) + kHeader;
  s->inference = t_inference;
  s->category = t_category;
  s->device = cpu;
  s->bytes = bytes;
  note_born(*s);
  Tensor t = dense_tensor(s, sizes, dtype, n);
  t.impl()->flags |= kNumber;
  return t;
}

Tensor make_deferred(IntList sizes, DType dtype) {
  const int64_t n = checked_numel("empty", sizes);
  auto* s = new (pool_allocate(size_t(kHeader))) Storage;
  s->deferred = true;
  s->inference = t_inference;
  s->category = t_category;
  s->module = t_module;
  s->device = cpu;
  s->bytes = n * dtype.itemsize();
  note_born(*s);
  return dense_tensor(s, sizes, dtype, n);
}
void* allocate_deferred(Storage& s) {
  const int64_t charged = rounded_bytes(s.bytes);
  ledger_add(s.device, s.category, s.module, charged);
  try {
    return device_allocate(s.device, charged);
  } catch (...) {
    ledger_remove(s.device, s.category, s.module, charged);
    throw;
  }
}
void give_deferred(Storage& s, void* data) noexcept {
  s.charged = rounded_bytes(s.bytes);
  s.deferred = false;
  s.foreign = nullptr;
  s.data = data;
}
void release_deferred(Storage& s, void* data) noexcept {
  const int64_t charged = rounded_bytes(s.bytes);
  device_release(s.device, data, charged);
  ledger_remove(s.device, s.category, s.module, charged);
}

void (*g_settle)() = nullptr;
void settle(const Storage& s) {
  if (!s.deferred) {
    if (const Batch* batch = entries_of(s); batch && s.bytes && !s.device.is_meta()) refuse_values(*batch);
    DY_CHECK(!s.remote, "device: the host asks for the values of a tensor on {}; bring it with .cpu() first", s.device.name());
    DY_CHECK(
        s.data || !s.free_foreign || s.device.is_meta() || s.bytes == 0,
        "distributed: a parameter's values are with another rank; they are here while its module runs, and while the model "
        "is gathered");
    return;
  }
  g_settle();
  DY_CHECK(!s.deferred, "compile: a value has not been computed: the thread that put it off ended without memory for it");
}
void settle_all() {
  if (g_settle) g_settle();
}

Tensor make_like(const TensorImpl& like) {
  Storage* s = new_storage(like.numel * like.dtype.itemsize(), like.device());
  TensorImpl* t = new_dense(s, like.dtype, like.ndim, like.numel);
  for (int d = 0; d < like.ndim; ++d) t->sizes[d] = like.sizes[d], t->strides[d] = like.strides[d];
  return Tensor::adopt(t);
}

namespace {

// Takes over the memory when it returns.
Tensor over_memory(void* data, IntList sizes, DType dtype, int64_t charged, Category category, void (*free)(void*),
                   void* context) {
  const int64_t n = checked_numel("from_buffer", sizes);
  auto* s = new (pool_allocate(size_t(kHeader))) Storage;
  TensorImpl* t = nullptr;
  try {
    t = new_impl();
    if (charged) ledger_add(cpu, category, t_module, charged);
  } catch (...) {
    if (t) pool_release(t, sizeof(TensorImpl));
    pool_release(s, size_t(kHeader));
    throw;
  }
  t->storage = s;
  s->inference = t_inference;
  s->category = category;
  s->module = t_module;
  s->device = cpu;
  if (dtype.is_blocked()) {
    s->geometry.cols = sizes.empty() ? 1 : sizes[sizes.size() - 1];
    s->geometry.rows = s->geometry.cols ? n / s->geometry.cols : 0;
    s->bytes = planes_of(*dtype.format(), s->geometry).bytes;
  } else {
    s->bytes = n * dtype.itemsize();
  }
  s->charged = charged;
  s->data = data;
  s->free_foreign = free;
  s->foreign = context;
  note_born(*s);
  t->dtype = dtype;
  t->ndim = uint8_t(sizes.size());
  int64_t stride = 1;
  for (int d = t->ndim - 1; d >= 0; --d) {
    t->sizes[d] = sizes[size_t(d)];
    t->strides[d] = stride;
    stride *= sizes[size_t(d)] > 0 ? sizes[size_t(d)] : 1;
  }
  set_flags(*t);
  return Tensor::adopt(t);
}

}  // namespace

Tensor make_foreign(void* data, IntList sizes, DType dtype, void (*free)(void*), void* context, Category category) {
  return over_memory(data, sizes, dtype, checked_numel("from_buffer", sizes) * dtype.itemsize(), category, free, context);
}
Tensor make_foreign_view(void* data, IntList sizes, DType dtype, void (*free)(void*), void* context) {
  return over_memory(data, sizes, dtype, 0, Category::temporary, free, context);
}
Tensor make_over(void* data, IntList sizes, DType dtype) {
  return make_foreign_view(data, sizes, dtype, [](void*) {}, nullptr);
}

Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset) {
  const TensorImpl& b = *base.impl();
  TensorImpl* t = new_impl();
  Tensor out = (retain(b.storage), t->storage = b.storage, Tensor::adopt(t));
  t->dtype = b.dtype;
  t->ndim = uint8_t(sizes.size());
  t->offset = offset;
  for (size_t d = 0; d < sizes.size(); ++d) t->sizes[d] = sizes[d], t->strides[d] = strides[d];
  t->flags |= b.flags & kUncounted;
  set_flags(*t);
  if (b.dtype.format()->is_scaled()) check_whole_blocks(base, *t);
  return out;
}

Tensor complex_parts(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  const size_t n = i.ndim;
  int64_t sizes[kMaxDims + 1], strides[kMaxDims + 1];
  for (size_t d = 0; d < n; ++d) sizes[d] = i.sizes[d], strides[d] = 2 * i.strides[d];
  sizes[n] = 2, strides[n] = 1;
  Tensor parts = make_view(t, {sizes, n + 1}, {strides, n + 1}, 2 * i.offset);
  parts.impl()->dtype = i.dtype.to_real();
  return parts;
}

void set_category(const Tensor& t, Category c) {
  Storage* s = t.impl()->storage;
  // What several threads read may be saved by all of them at once.
  const Category before = std::atomic_ref(s->category).exchange(c, std::memory_order_relaxed);
  if (before != c) ledger_move(s->device, before, c, s->charged);
}

void check_memory_writable(const char* who, const Tensor& t) {
  settle_all();
  DY_CHECK_AS(ValueError, !t.impl()->storage->read_only,
              "{}: the memory is a file that is mapped to be read: self is {}; clone() it, or map the file with mode r+ or c",
              who, describe(t));
  DY_CHECK(!t.impl()->storage->inference || t_inference,
           "{}: a tensor of inference mode is written outside of it: self is {}; clone() it first", who, describe(t));
}
void check_writable(const char* who, const Tensor& t) {
  check_memory_writable(who, t);
  const TensorImpl& i = *t.impl();
  for (int d = 0; d < i.ndim; ++d)
    DY_CHECK(i.strides[d] != 0 || i.sizes[d] < 2 || i.numel == 0,
             "{}: one element stands in several places: self is {}, expanded along dimension {}; clone() it first", who,
             describe(t), d);
}

bool apart(IntList sizes, IntList strides) {
  int order[kMaxDims], n = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1) order[n++] = int(d);
  auto step = [&](int d) { return std::abs(strides[size_t(d)]); };
  std::sort(order, order + n, [&](int a, int b) { return step(a) < step(b); });
  int64_t reach = 0;  // of the dimensions so far
  for (int k = 0; k < n; ++k) {
    if (step(order[k]) <= reach) return false;
    reach += step(order[k]) * (sizes[size_t(order[k])] - 1);
  }
  return true;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  return x.storage == y.storage && x.offset == y.offset && x.dtype == y.dtype && x.shape() == y.shape() &&
         a.strides() == b.strides();
}

int64_t wrap_dim(const char* who, int64_t dim, int64_t ndim) {
  int64_t n = ndim > 0 ? ndim : 1;
  DY_CHECK_AS(IndexError, dim >= -n && dim < n, "{}: dimension out of range: dim is {}; expected {} to {}", who, dim, -n,
              n - 1);
  return dim < 0 ? dim + n : dim;
}

std::string shape_text(IntList sizes) { return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", ")); }
std::string describe(const Tensor& t) { return t.dtype().name() + shape_text(t.sizes()); }

}  // namespace dyadic::inline v1
