// softmax as its definition says, one entry after another.
#include <algorithm>
#include <cmath>

#include "ops/along.h"
#include "ops/plain_values.h"

namespace dyadic::inline v1::ops::softmax_op {
namespace {

struct Rows {
  Operand self, out;
  int64_t outer, n, inner;
};
void run(const Rows& p, const Pointers& at) {
  with_plain_type(p.out, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < p.outer * p.inner; ++i) {
        const auto number = [&](int64_t j) { return (i / p.inner * p.n + j) * p.inner + i % p.inner; };
        const auto x = [&](int64_t j) { return plain_value<T>(p.self, at.in[0], place_of(p.self, p.out.sizes(), number(j))); };
        T most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < p.n; ++j) most = std::max(most, x(j));
        for (int64_t j = 0; j < p.n; ++j) sum += std::exp(x(j) - most);
        for (int64_t j = 0; j < p.n; ++j) write_plain(p.out, at.out[0], number(j), std::exp(x(j) - most) / sum);
      }
    }
  });
}
void plan(Call& c) {
  const Operand self = c.operand(arg::self), out = c.result();
  const AlongDim along(c.name, self.sizes(), c[arg::dim]);
  c.plan.set<run>(Rows{self, out, along.outer, along.n, along.inner});
}

}  // namespace

extern constexpr Kernel reference = {.plan = plan, .blocked = in(arg::self)};

}  // namespace dyadic::inline v1::ops::softmax_op
