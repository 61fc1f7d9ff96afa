#include "offload/spill.h"

#include <sys/mman.h>

#include "dyadic/autograd.h"
#include "tensor/absent.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kAlign = 4096;  // of what is mapped by itself

struct Mapping {
  void* at;
  size_t bytes;
  int64_t place;  // in the file
  std::shared_ptr<Spill> file;
};
bool begins_and_fills_its_storage(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  const Geometry& g = i.storage->geometry;
  return t.is_contiguous() && i.offset == 0 && (!t.dtype().is_blocked() || t.numel() == g.rows * g.cols);
}
void free_blank(void*) {}
void unmap(void* context) {
  const std::unique_ptr<Mapping> m(static_cast<Mapping*>(context));
  munmap(m->at, m->bytes);
  m->file->file().free(m->place, int64_t(m->bytes));
}

}  // namespace

Tensor Spill::put(const Tensor& t, bool writable) {
  const NoGrad guard;
  const Tensor whole = begins_and_fills_its_storage(t) ? t : t.is_contiguous() ? t.clone() : t.contiguous();
  const int64_t bytes = buffer_bytes(whole);
  if (bytes == 0) return whole;
  file_.write(end_, whole.impl()->storage->data, bytes, "weights");
  // The last page is the file's to its end.
  const int64_t pages = (bytes + kAlign - 1) / kAlign * kAlign;
  file_.extend(end_ + pages, "weights");
  auto m = std::make_unique<Mapping>(Mapping{nullptr, size_t(bytes), end_, shared_from_this()});
  m->at = file_.map(end_, bytes, writable, "weights");
  end_ += pages;
  Tensor there;
  try {
    there = make_foreign_view(m->at, whole.sizes(), whole.dtype(), unmap, m.get());
  } catch (...) {
    munmap(m->at, m->bytes);
    throw;
  }
  m.release();
  there.impl()->storage->read_only = !writable;
  set_category(there, whole.impl()->storage->category);
  return there;
}

Tensor Spill::blank(const Tensor& t) {
  const Tensor there = make_absent(t);
  there.impl()->storage->free_foreign = free_blank;
  return there;
}

bool is_spilled(const Tensor& t) {
  const auto free = t.impl()->storage->free_foreign;
  return free == unmap || free == free_blank;
}
Tensor put_beside(const Tensor& there, const Tensor& t) {
  if (there.is_meta()) return Spill::blank(t);
  const std::shared_ptr<Spill> file = static_cast<Mapping*>(there.impl()->storage->foreign)->file;
  return file->put(t, true);
}

}  // namespace dyadic::inline v1::offload
