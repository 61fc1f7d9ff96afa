#include "ops/expected.h"
#include "ops/nn/softmax.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_along_backward_op {
namespace {

void infer(Call& c) {
  check_float("softmax_along_backward", c[arg::result], "result");
  DY_CHECK(c[arg::result].dim() > 0, "{}: no rows: result is {}", c.name, describe(c[arg::result]));
  expect_operand(c, 0, "grad", c[arg::result].sizes());
  infer_like_first(c);
  c.spec[0].dtype = plain(c[arg::result]);
}
struct Parameters {
  const Format *dy, *y, *dx;
  int64_t outer, n, inner;
  bool log;
};
void run(const Parameters& p, const Pointers& at) {
  softmax_kernel().backward({at.in[1], p.y}, {at.in[0], p.dy}, {at.out[0], p.dx}, p.outer, p.n, p.inner, p.log);
}
void plan(Call& c) {
  const AlongDim along(c.name, c[arg::result].sizes(), c[arg::dim]);
  c.plan.set<run>(Parameters{format_of(c, arg::grad), format_of(c, arg::result), result_format(c), along.outer, along.n,
                             along.inner, c[arg::log]});
}
double flops(const Call& c) { return 4.0 * double(c[arg::grad].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_along_backward(Tensor grad, Tensor result, int dim, bool log) -> Tensor",
    .doc = "The gradient of softmax_along from its result, in one pass.",
    .internal = true,
    .samples =
        "softmax_along_backward(randn(3, 5), rand(3, 5), 1, False)\nsoftmax_along_backward(randn(3, 5), rand(3, 5), 1, True)\n"
        "softmax_along_backward(randn(2, 3, 9), rand(2, 3, 9), 1, False)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::softmax_along_backward_op
