// Products as their definition says: one sum after another, term by term.
#include "ops/common.h"
#include "ops/plain_values.h"

namespace dyadic::inline v1::ops::matmul_op {
namespace {

struct Matrices {  // of a batch: vectors as rows on the left and columns on the right
  Operand self, other, out, self_batch, other_batch;
  int64_t m, n, k, a_row, a_col, b_row, b_col, entries, batch_dims, batch[kMaxDims];
};
void run(const Matrices& p, const Pointers& at) {
  with_plain_type(p.out, [&]<class T>(T) {
    const IntList batch{p.batch, size_t(p.batch_dims)};
    for (int64_t e = 0; e < p.entries; ++e) {
      const int64_t a = place_of(p.self_batch, batch, e), b = place_of(p.other_batch, batch, e);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          T sum = 0;
          for (int64_t q = 0; q < p.k; ++q)
            sum += plain_value<T>(p.self, at.in[0], a + i * p.a_row + q * p.a_col) *
                   plain_value<T>(p.other, at.in[1], b + q * p.b_row + j * p.b_col);
          write_plain(p.out, at.out[0], (e * p.m + i) * p.n + j, sum);
        }
    }
  });
}

Operand without_last(Operand o, int count) {
  o.ndim = std::max(o.ndim - count, 0);
  return o;
}
void plan(Call& c) {
  Matrices& p = c.plan.make<run, Matrices>();
  p.self = c.operand(arg::self), p.other = c.operand(arg::other), p.out = c.result();
  const bool row = p.self.ndim == 1, column = p.other.ndim == 1;
  p.k = p.self.size(-1), p.m = row ? 1 : p.self.size(-2), p.n = column ? 1 : p.other.size(-1);
  p.a_row = row ? 0 : p.self.stride(-2), p.a_col = p.self.stride(-1);
  p.b_row = p.other.stride(column ? -1 : -2), p.b_col = column ? 0 : p.other.stride(-1);
  p.self_batch = without_last(p.self, 2), p.other_batch = without_last(p.other, 2);
  p.batch_dims = p.out.ndim - !row - !column, p.entries = 1;
  for (int64_t d = 0; d < p.batch_dims; ++d) p.entries *= p.batch[d] = p.out.size(d);
}

}  // namespace

extern constexpr Kernel reference = {.plan = plan, .blocked = in(arg::self) | in(arg::other)};

}  // namespace dyadic::inline v1::ops::matmul_op
