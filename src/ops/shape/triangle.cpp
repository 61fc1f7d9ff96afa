#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "corridor/batching.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::triangle_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::self].dim() >= 2, "triangle: needs a matrix: self is {}", describe(c[arg::self]));
  infer_like_first(c);
}
struct Parameters {
  int64_t lines, rows, cols, width, diagonal;
  bool lower;
};
void run(const Parameters& p, const Pointers& at) {
  const int64_t all = p.cols * p.width, grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(all, 1));
  const char* from = static_cast<char*>(at.in[0]);
  char* to = static_cast<char*>(at.out[0]);
  parallel_for(p.lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t cut = std::clamp<int64_t>(r % p.rows + p.diagonal + (p.lower ? 1 : 0), 0, p.cols) * p.width;
      const int64_t kept = p.lower ? 0 : cut, zeros = p.lower ? cut : 0;
      std::memcpy(to + r * all + kept, from + r * all + kept, size_t(p.lower ? cut : all - cut));
      std::memset(to + r * all + zeros, 0, size_t(p.lower ? all - cut : cut));
    }
  });
}
void plan(Call& c) {
  const Operand x = c.operand(arg::self);
  const int64_t rows = x.size(-2), cols = x.size(-1);
  c.plan.set<run>(Parameters{cols ? x.numel() / cols : 0, rows, cols, x.itemsize(),
                             std::clamp(c[arg::diagonal], -rows - 1, cols + 1), c[arg::lower]});
}
void backward(Grad& g) { g.set(arg::self, call(Op::triangle_, g.g(), g[arg::diagonal], g[arg::lower])); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "triangle(Tensor self, int diagonal, bool lower) -> Tensor",
    .doc = "tril (lower) or triu: the entries on one side of a diagonal of the last two dimensions, zeros elsewhere.",
    .internal = true,
    .samples =
        "triangle(randn(3, 4), 1, True)\n"
        "triangle(randn(2, 4, 3), -1, False)\n"
        "triangle(randn(3, 0), 0, True)",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::triangle_op
