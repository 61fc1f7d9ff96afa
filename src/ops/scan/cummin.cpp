#include "ops/common.h"
#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  infer_scan(c, -1);
  c.spec[0].dtype = plain(c.tensor(0));
  c.spec[1] = c.spec[0];
  c.spec[1].dtype = i64;
  c.nout = 2;
}
void forward(Call& c) {
  scan_kernel().extremes(ScanOp::min, scan_shape(c), source_of(c.tensor(0)), target_of(c.out[0]), c.out[1].data<int64_t>());
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(0);
  g.set(0, scatter_add(zeros(m.shape(), g.g().dtype(), m.device), g.integer(1), g.out(1), g.g()));
}

}  // namespace

extern constexpr OpDef cummin_op = {
    .sig = "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    .doc = "The smallest of the entries of dim so far, and where it is: the last of equal ones. NaN, once there, stays.",
    .samples =
        "cummin(randn(3, 4), 1)\n"
        "cummin(steps(3, 4), 0)\n"
        "cummin(randn(), 0)\n"
        "cummin(randn(0, 2), 0)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {out(1)},
    .flops = reduction_flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
