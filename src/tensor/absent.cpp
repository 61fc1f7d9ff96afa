#include "tensor/absent.h"

#include "base/check.h"
#include "formats/packed.h"

namespace dyadic::inline v1 {

static void free_nothing(void*) {}
bool is_absent(const Tensor& t) { return t.impl()->storage->free_foreign == free_nothing; }

// On meta, where memory is a number, which is taken back.
Tensor make_absent(const Tensor& like) {
  const Tensor t = make_tensor(like.sizes(), like.dtype(), meta);
  Storage& s = *t.impl()->storage;
  ledger_remove(meta, s.category, s.module, s.charged);
  s.charged = 0;
  s.device = like.device();
  s.bytes = like.impl()->storage->bytes;
  s.geometry = like.impl()->storage->geometry;
  s.category = like.impl()->storage->category;
  s.free_foreign = free_nothing;
  return t;
}

void lend(const Tensor& absent, void* data) { absent.impl()->storage->data = data; }

int64_t buffer_bytes(const Tensor& t) {
  return t.dtype().is_blocked() ? planes_of(*t.dtype().format(), t.impl()->storage->geometry).buffer_bytes : t.nbytes();
}

}  // namespace dyadic::inline v1
