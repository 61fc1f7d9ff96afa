#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::eye_op {
namespace {

void infer(Call& c) {
  int64_t n = c.integer(0), m = c.has(1) ? c.integer(1) : n;
  DY_CHECK(n >= 0 && m >= 0, "eye: negative size: n is {}, m is {}", n, m);
  int64_t size[] = {n, m};
  infer_creation(c, size, 2, 3);
}
void forward(Call& c) {
  fill(c.out[0], 0);
  const TensorImpl& o = *c.out[0].impl();
  int64_t n = std::min(o.sizes[0], o.sizes[1]);
  fill(make_view(c.out[0], {n}, {o.strides[0] + o.strides[1]}, o.offset), 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "eye(int n, int? m=None, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Ones on the diagonal of an n x m matrix of zeros.",
    .samples = "eye(3)\neye(2, 4)\neye(3, 1, i64)\neye(0)",
    .infer = infer,
    .forward = forward,
};

}  // namespace dyadic::inline v1::ops::eye_op
