// What stands behind a Tensor: storage (bytes, shared), and the handle (a strided view of them). Both come from the pool; a
// small storage keeps its bytes behind its header in one allocation.
//
// Note [Scaled views]: sizes and strides of a blocked tensor (scaled, or packed below 8 bits) count elements of its storage
// order (formats/format.h). So a transpose is a change of strides like any other, and reading decodes the span of storage order
// that a view touches. A view that would cut a block of a scaled format is refused where it is made (check_whole_blocks).
#pragma once
#include <new>

#include "device/allocator.h"
#include "dyadic/tensor.h"
#include "formats/format.h"

namespace dyadic::inline v1 {

struct Node;      // the tape, corridor/tape.h
struct AutoMeta;  // gradient, hooks: corridor/tape.h

struct Storage {
  std::atomic<int32_t> refs{1};
  std::atomic<uint32_t> version{0};
  std::atomic<int32_t> saves{0};     // tape nodes that keep it for backward
  std::atomic<uint32_t> rebases{0};  // recorded writes: a view made before one has another history since
  Category category;
  Device device;
  bool inline_data = false;  // bytes follow this header
  bool read_only = false;    // a file mapped to be read
  bool inference = false;    // made in inference mode: not for backward, not written outside
  bool deferred = false;     // Note [Deferred values]: there is no data yet
  bool lent = false;         // others than ops may write it at any time: NumPy shares it
  uint32_t module = 0;
  int64_t bytes = 0;                              // the truth about the elements
  int64_t charged = 0;                            // what the ledger counts
  void* data = nullptr;                           // on the host
  void* remote = nullptr;                         // on a device: Note [Device memory], device/backend.h
  Geometry geometry{};                            // blocked formats only
  void (*free_foreign)(void* context) = nullptr;  // memory that is someone else's (numpy)
  void* foreign = nullptr;                        // of deferred values: graph's
};

// kNumber: a plain number made into a 0-d tensor; kParameter: shown to Python as nn.Parameter; kView: has a base; kUncounted:
// of Python's x.data, writes through which backward does not hear of; kOwnsFace: the Python object lives as long as this does;
// kOneOfMany: a view that was made with others, not written while gradients are recorded.
inline constexpr uint8_t kRequiresGrad = 1, kContiguous = 2, kNumber = 4, kParameter = 8, kView = 16, kUncounted = 32,
                         kOwnsFace = 64, kOneOfMany = 128;
extern constinit thread_local bool t_inference;  // inference mode: of storages that are made

// Note [Deferred values]: a compiled function (graph/) puts calls off. Their results are tensors like any other, but the
// storage has no data before somebody asks for it: whoever takes a pointer settles the storage. What the calls read must not
// change meanwhile: whoever writes, or lends memory to somebody who may, settles all that has been put off.
void settle(const Storage& s);
void settle_all();
extern void (*g_settle)();  // graph's

struct TensorImpl {
  std::atomic<int32_t> refs{1};
  uint8_t ndim = 0, flags = 0;
  uint16_t output = 0;  // which output of `node`
  DType dtype;
  Storage* storage = nullptr;
  int64_t offset = 0, numel = 1;
  Node* node = nullptr;        // what made it, if recorded
  AutoMeta* meta = nullptr;    // of leaves that require grad
  void* face = nullptr;        // the Python object that shows it, while one lives
  TensorImpl* base = nullptr;  // what it was made a view of while gradients were recorded; itself no view
  uint32_t epoch = 0;          // the storage's rebases when `node` was right for a view
  int64_t sizes[kMaxDims], strides[kMaxDims];

  bool contiguous() const { return flags & kContiguous; }
  Device device() const { return storage->device; }
  // The first element. Blocked tensors: the storage's start (their offset counts in storage order).
  char* data() const {
    if (!storage->data) [[unlikely]]
      settle(*storage);
    return static_cast<char*>(storage->data) + (dtype.format()->is_blocked() ? 0 : offset * dtype.format()->itemsize());
  }
  // The same wherever it lies, for kernels and copies.
  char* place() const {
    if (!storage->remote) [[likely]]
      return data();
    return static_cast<char*>(storage->remote) + (dtype.format()->is_blocked() ? 0 : offset * dtype.format()->itemsize());
  }
  IntList shape() const { return {sizes, size_t(ndim)}; }
};

extern void (*g_release_face)(void* face) noexcept;  // Python's, for kOwnsFace

inline Tensor borrow(TensorImpl* p) {  // a new reference
  p->refs.fetch_add(1, std::memory_order_relaxed);
  return Tensor::adopt(p);
}
// Whether nobody else sees the elements.
inline bool is_sole(const TensorImpl& t) {
  return t.refs.load() == 1 && t.storage->refs.load() == (t.storage->deferred ? 2 : 1);
}
inline void retain(Storage* s) { s->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Storage* s) noexcept;

// One without data, Note [Deferred values]; not blocked, on the cpu. Who puts it off keeps a reference to the storage.
Tensor make_deferred(IntList sizes, DType dtype);
void* allocate_deferred(Storage& s);                     // memory for its data, charged; OutOfMemoryError
void give_deferred(Storage& s, void* data) noexcept;     // it has its data now
void release_deferred(Storage& s, void* data) noexcept;  // or memory goes back, and it stays as it was

// Plain numbers that a call reads on the host, wherever its tensors are; flagged so, uninitialized. The ledger does not count
// them, as it does not count tensors' headers: a dry run on meta makes as many, and they would be counted on another device.
Tensor make_numbers(IntList sizes, DType dtype);
// A new contiguous tensor, uninitialized; charged to t_category.
Tensor make_tensor(IntList sizes, DType dtype, Device device);
// One like `t`, which is contiguous and not blocked.
Tensor make_like(const TensorImpl& t);
// Another view of the storage of `base`. Throws when it would cut a block of a scaled format.
Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset);
Tensor complex_parts(const Tensor& t);  // a complex tensor [...] as the real numbers [..., 2] that it is, without history
// A tensor over memory that is someone else's; `release(context)` when the last view dies.
Tensor make_foreign(void* data, IntList sizes, DType dtype, void (*release)(void*), void* context,
                    Category category = Category::data);

// A tensor over memory that the ledger counts already, `release(context)` when the last view dies; make_over: a kernel's
// workspace, which it must not outlive. Blocked dtypes with one plane only.
Tensor make_foreign_view(void* data, IntList sizes, DType dtype, void (*release)(void*), void* context);
Tensor make_over(void* data, IntList sizes, DType dtype);

int64_t checked_numel(const char* who, IntList sizes);  // ValueError on negative sizes and overflow
void set_category(const Tensor& t, Category c);         // moves the whole storage in the ledger
void set_flags(TensorImpl& t);                          // numel and contiguity from sizes and strides

// Note [Written views]: a view knows its base. A recorded write into either gives the base a new node: the old base with the
// view's region replaced. Histories of other views are stale from then on; whoever asks for one calls fresh() first, which
// takes it from the base anew.
void renew_history(TensorImpl& view);  // corridor/tape.cpp
inline const TensorImpl& fresh(const TensorImpl& t) {
  if ((t.flags & kView) && t.epoch != t.storage->rebases.load(std::memory_order_relaxed)) [[unlikely]]
    renew_history(const_cast<TensorImpl&>(t));
  return t;
}
void set_base(TensorImpl& view, const TensorImpl& of);
void drop_base(TensorImpl& view);

inline void bump(const Tensor& t) {
  if (!(t.impl()->flags & kUncounted)) t.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
}

// Before a write: the memory may be a file mapped to be read, or one element shown in several places.
void check_writable(const char* who, const Tensor& t);
void check_memory_writable(const char* who, const Tensor& t);  // the first alone: one value may be written everywhere
bool apart(IntList sizes, IntList strides);            // no two elements at one place; false where that is not easily seen
bool same_elements(const Tensor& a, const Tensor& b);  // two names of one view

int64_t wrap_dim(const char* who, int64_t dim, int64_t ndim);  // IndexError in PyTorch's sense; 0-d counts as 1-d
std::string shape_text(IntList sizes);                         // "[2, 3]"
std::string describe(const Tensor& t);                         // "f32[2, 3]", for messages

}  // namespace dyadic::inline v1
