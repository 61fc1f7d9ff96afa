// input W^T + bias over the last dimension.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/products/product.h"

namespace dyadic::gpu {
namespace {

namespace arg = ops::linear_op::arg;

void plan(Call& c) {
  Product& p = c.plan.make<run_product, Product>();
  begin_product(c, p);
  Gemm& g = p.gemm;
  const Format* const type = &own_format(own_code(g.math));
  const Operand x = c.operand(arg::input), w = c.operand(arg::weight), out = c.result();
  const bool row = w.ndim == 1;  // one number for each row, without a dimension in the result
  g.shape.k = x.size(-1), g.shape.m = 1, g.shape.n = row ? 1 : w.size(0);
  for (int d = 0; d + 1 < x.ndim; ++d) g.shape.m *= x.lengths[d];
  int64_t apart = 0;
  const bool blocked = x.format->is_blocked(), rows = !blocked && rows_of(x, x.ndim - 1, &apart);
  p.a.plan("linear", x, blocked ? type : x.format, !rows, true);
  g.a = p.a.side();
  g.a.steps.line = rows ? apart : g.shape.k, g.a.steps.k = rows ? x.stride(-1) : 1;
  p.b.plan("linear", w, type, false);
  const auto set_right = [&] {
    g.b = p.b.side();
    g.b.steps.line = row ? 0 : p.b.step(2), g.b.steps.k = p.b.step(1);
  };
  set_right();
  if (w.format->is_blocked() && !stored_reads(g)) p.b.plan("linear", w, type, true), set_right();
  g.column = row ? 1 : out.stride(-1);
  p.direct = rows_of(out, out.ndim - !row, &g.row);
  if (!p.direct) g.row = g.shape.n, g.column = 1;
  p.biased = c.has(arg::bias);
  if (p.biased) g.bias = code_of(c.operand(arg::bias).format), g.bias_step = c.operand(arg::bias).stride(0);
  plan_product(c, p);
}

const Registered linear{"linear", {.plan = plan, .blocked = in(arg::input) | in(arg::weight)}};

}  // namespace
}  // namespace dyadic::gpu
