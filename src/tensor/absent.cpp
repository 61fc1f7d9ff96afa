#include "tensor/absent.h"

#include "base/check.h"
#include "formats/packed.h"

namespace dyadic::inline v1 {

static void free_nothing(void*) {}
bool is_absent(const Tensor& t) { return t.impl()->storage->free_foreign == free_nothing; }

Tensor make_absent(const Tensor& like) {
  const Tensor t = make_foreign_view(nullptr, like.sizes(), like.dtype(), free_nothing, nullptr);
  Storage& s = *t.impl()->storage;
  const Storage& of = *like.impl()->storage;
  s.device = like.device();
  s.bytes = of.bytes, s.geometry = of.geometry, s.category = of.category;
  return t;
}

void lend(const Tensor& absent, void* data) { absent.impl()->storage->data = data; }

int64_t buffer_bytes(const Tensor& t) {
  return t.dtype().is_blocked() ? planes_of(*t.dtype().format(), t.impl()->storage->geometry).buffer_bytes : t.nbytes();
}

}  // namespace dyadic::inline v1
