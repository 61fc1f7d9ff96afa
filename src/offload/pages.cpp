#include "offload/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "dyadic/offload.h"
#include "formats/packed.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::offload {

// Of a format with several planes all of its storage.
Pages::Pages(const Tensor& t) : t_(t) {
  DY_ASSERT(is_offloaded(t));
  static const auto kPage = uintptr_t(sysconf(_SC_PAGESIZE));
  const TensorImpl& i = *t.impl();
  const Format& f = *t.dtype().format();
  int64_t before = 0, bytes = 0;
  if (!t.dtype().is_blocked())
    before = i.offset * t.dtype().itemsize(), bytes = t.nbytes();
  else if (f.is_scaled() && !f.def->block_bytes)
    bytes = planes_of(f, i.storage->geometry).buffer_bytes;
  else
    before = planes_of(f, {1, i.offset}).bytes, bytes = planes_of(f, {1, t.numel()}).bytes;
  const auto at = uintptr_t(i.storage->data) + uintptr_t(before);
  begin_ = at / kPage * kPage;
  end_ = (at + uintptr_t(bytes) + kPage - 1) / kPage * kPage;
}
void Pages::read_ahead() const { madvise(reinterpret_cast<void*>(begin_), end_ - begin_, MADV_WILLNEED); }
void Pages::drop() const { madvise(reinterpret_cast<void*>(begin_), end_ - begin_, MADV_DONTNEED); }

}  // namespace dyadic::inline v1::offload
