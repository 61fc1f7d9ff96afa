#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::eye_op {
namespace {

void infer(Call& c) {
  int64_t n = c[arg::n], m = c.has(arg::m) ? c[arg::m] : n;
  DY_CHECK(n >= 0 && m >= 0, "eye: negative size: n is {}, m is {}", n, m);
  int64_t size[] = {n, m};
  infer_creation(c, size, 2, 3);
}
void run(const Operand& matrix, const Pointers& at) {
  const Array out = at.output(0, matrix);
  const int64_t sizes[] = {std::min(out.size(0), out.size(1))}, strides[] = {out.stride(0) + out.stride(1)};
  fill(out, 0);
  fill(out.view(sizes, strides), 1);
}
void plan(Call& c) { c.plan.set<run>(c.result()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "eye(int n, int? m=None, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Ones on the diagonal of an n x m matrix of zeros.",
    .samples = "eye(3)\neye(2, 4)\neye(3, 1, i64)\neye(0)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::eye_op
