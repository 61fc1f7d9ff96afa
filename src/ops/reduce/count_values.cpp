#include <algorithm>
#include <atomic>

#include "ops/operands.h"
#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops::count_values_op {
namespace {

void infer(Call& c) {
  DY_CHECK_AS(TypeError, c[arg::self].dtype().is_integer(), "{}: self is integers: it is {}", c.name, describe(c[arg::self]));
  c.spec[0].dtype = i64;
  c.spec[0].device = c[arg::self].device();
  c.spec[0].shape({c[arg::size]});
}
// False: a number is none of low ... low + size - 1.
template <class T> bool count_run(const T* x, int64_t n, int64_t low, int64_t size, const Counts& counts) {
  static_assert(kCountWays == 4);
  int64_t *a = counts.way[0], *b = counts.way[1], *c = counts.way[2], *d = counts.way[3];
  const auto place = [&](int64_t i) { return uint64_t(x[i]) - uint64_t(low); };
  const uint64_t end = uint64_t(size);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint64_t p = place(i), q = place(i + 1), r = place(i + 2), s = place(i + 3);
    if ((p >= end) | (q >= end) | (r >= end) | (s >= end)) [[unlikely]]
      return false;
    ++a[p], ++b[q], ++c[r], ++d[s];
  }
  for (; i < n; ++i) {
    if (place(i) >= end) return false;
    ++a[place(i)];
  }
  return true;
}
bool count_stored(const Format& f, const char* x, int64_t n, int64_t low, int64_t size, const Counts& counts) {
  const auto run = [&](auto* as) { return count_run(reinterpret_cast<decltype(as)>(x), n, low, size, counts); };
  if (&f == i64.format() || &f == u64.format()) return run(static_cast<const int64_t*>(nullptr));
  if (&f == i32.format()) return run(static_cast<const int32_t*>(nullptr));
  if (&f == i16.format()) return run(static_cast<const int16_t*>(nullptr));
  if (&f == u8.format()) return run(static_cast<const uint8_t*>(nullptr));
  constexpr int64_t kTile = 1024;
  alignas(64) int64_t tile[kTile];
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = std::min(kTile, n - at);
    f.def->decode(x + at * f.itemsize(), tile, m);
    const bool good = f.compute() == Compute::i32 ? count_run(reinterpret_cast<const int32_t*>(tile), m, low, size, counts)
                                                  : count_run(tile, m, low, size, counts);
    if (!good) return false;
  }
  return true;
}
struct Range {
  const char* name;
  Operand self;
  int64_t low, size;
};
void run(const Range& p, const Pointers& at) {
  const Array x = at.input(0, p.self);
  std::atomic<bool> inside{true};
  count_all(at, x.count, p.size, [&](int64_t begin, int64_t end, const Counts& counts) {
    if (!count_stored(*x.format, x.at + begin * x.itemsize(), end - begin, p.low, p.size, counts)) inside = false;
  });
  DY_CHECK_AS(IndexError, inside, "{}: a number is out of range: self is {}; expected {} to {}", p.name, describe(p.self),
              p.low, p.low + p.size - 1);
}
void plan(Call& c) {
  c.plan.workspace = counting_workspace(c[arg::self].numel(), c[arg::size]);
  c.plan.set<run>(Range{c.name, c.operand(arg::self), c[arg::low], c[arg::size]});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_values(Tensor self, int low, int size) -> Tensor",
    .doc = "How often each of the integers from low to low + size - 1 occurs; there are no others. int64.",
    .internal = true,
    .samples = "count_values(indices(5; 7), 0, 5)\ncount_values(indices(3; 0), 0, 3)\ncount_values(indices(5; 4), -2, 9)",
    .bad = "count_values(indices(5; 2), 0, 3) => count_values: a number is out of range: self is i64[2]; expected 0 to 2",
    .skip = "cost: counting is no arithmetic\ngradcheck: a count has none",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::count_values_op
