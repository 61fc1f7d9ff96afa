#include <algorithm>

#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::nonzero_static_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(1) >= 0, "nonzero_static: negative size: size is {}", c.integer(1));
  c.spec[0].dtype = i64;
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({c.integer(1), c.tensor(0).dim()});
}
int64_t workspace(const Call& c) { return c.tensor(0).dtype() == boolean ? 0 : c.tensor(0).numel(); }
void forward(Call& c) {
  const Tensor& self = c.tensor(0);
  Tensor mask = self;
  if (self.dtype() != boolean && self.numel()) {
    mask = make_over(c.workspace, self.sizes(), boolean);
    assign(mask, self);
  }
  int64_t* out = c.out[0].data<int64_t>();
  const int64_t found = write_nonzero(mask, c.integer(1), out);
  std::fill(out + found * self.dim(), out + c.integer(1) * self.dim(), c.integer(2));
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
    .forward = forward,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::nonzero_static_op
