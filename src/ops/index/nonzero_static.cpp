#include <algorithm>

#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::nonzero_static_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::size] >= 0, "nonzero_static: negative size: size is {}", c[arg::size]);
  c.spec[0].dtype = i64;
  c.spec[0].device = c[arg::self].device();
  c.spec[0].shape({c[arg::size], c[arg::self].dim()});
}
struct Parameters {
  Operand self;
  int64_t size, fill;
};
void run(const Parameters& p, const Pointers& at) {
  const void* mask = at.in[0];
  if (p.self.dtype() != boolean && p.self.numel()) {
    mask = at.workspace;
    assign(Array(p.self.sizes(), boolean, at.workspace), at.input(0, p.self));
  }
  auto* out = static_cast<int64_t*>(at.out[0]);
  const int64_t found = write_nonzero(mask, p.self.sizes(), p.size, out);
  std::fill(out + found * p.self.dim(), out + p.size * p.self.dim(), p.fill);
}
void plan(Call& c) {
  c.plan.workspace = c[arg::self].dtype() == boolean ? 0 : c[arg::self].numel();
  c.plan.set<run>(Parameters{c.operand(arg::self), c[arg::size], c[arg::fill_value]});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    .doc =
        "The indices of the first `size` elements that are not zero, a row of int64 for each, in row-major order; rows of "
        "fill_value if there are fewer.",
    .samples =
        "nonzero_static(steps(3, 4), 5)\n"
        "nonzero_static(steps(2, 2), 9, 7)\n"
        "nonzero_static(steps(3, 4, 5), 20)\n"
        "nonzero_static(steps(), 1)\n"
        "nonzero_static(steps(0, 2), 1)",
    .bad = "nonzero_static(zeros(2), -1) => nonzero_static: negative size: size is -1",
    .skip = "cost: indices are not arithmetic",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::nonzero_static_op
