// Matrix products over the last two dimensions, batch dimensions broadcast.
#include <algorithm>

#include "plugins/cuda/kernel.h"
#include "plugins/cuda/products/product.h"

namespace dyadic::gpu {
namespace {

namespace arg = ops::matmul_op::arg;

void plan(Call& c) {
  Product& p = c.plan.make<run_product, Product>();
  begin_product(c, p);
  Gemm& g = p.gemm;
  const Format* const type = &own_format(own_code(g.math));
  const Operand a = c.operand(arg::self), b = c.operand(arg::other), out = c.result();
  const bool row = a.ndim == 1, column = b.ndim == 1;
  g.shape.m = row ? 1 : a.size(-2), g.shape.k = a.size(-1), g.shape.n = column ? 1 : b.size(-1);
  p.a.plan("matmul", a, type, a.format->is_blocked());
  g.a = p.a.side();
  g.a.steps.line = row ? 0 : p.a.step(2), g.a.steps.k = p.a.step(1);
  const bool blocked = b.format->is_blocked();
  p.b.plan("matmul", b, type, false);
  const auto set_right = [&] {
    g.b = p.b.side();
    g.b.steps.line = column ? 0 : p.b.step(1), g.b.steps.k = column ? p.b.step(1) : p.b.step(2);
  };
  set_right();
  if (blocked && (b.ndim > 2 || !stored_reads(g))) p.b.plan("matmul", b, type, true), set_right();
  const int dims = g.shape.dims = out.ndim - !row - !column;
  g.column = column ? 1 : out.stride(-1), g.row = row ? 0 : out.stride(column ? -1 : -2);
  for (int d = 0; d < dims; ++d) {
    const int back = dims - d + 2;
    g.shape.sizes[d] = out.lengths[d], g.entries[d] = out.steps[d];
    g.a.steps.entries[d] = p.a.batch_step(back), g.b.steps.entries[d] = p.b.batch_step(back);
  }
  p.direct = true;
  plan_product(c, p);
}

const Registered matmul{"matmul", {.plan = plan, .blocked = in(arg::self) | in(arg::other)}};

}  // namespace
}  // namespace dyadic::gpu
