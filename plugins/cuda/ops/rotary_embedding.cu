// Pairs of a row's numbers turned: two neighbouring pairs to a thread where they lie so, as the CPU rounds them.
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/usual.h"

#include "ops/nn/rotary_embedding.h"

namespace dyadic::gpu {
namespace {

namespace arg = ops::rotary_embedding_op::arg;
constexpr int kThreads = 256;

// A thread has a place of a row: of a pair, or of what stays behind them.
template <class E>
__global__ void __launch_bounds__(kThreads)
    turn_rows(const __grid_constant__ RotaryRows p, const typename E::Stored* x, const typename E::Stored* cosine,
              const typename E::Stored* sine, typename E::Stored* y) {
  const int64_t places = p.width - p.pairs;
  for (int64_t i = first_thread(); i < p.rows * places; i += all_threads()) {
    const int64_t row = i / places, k = i % places;
    int64_t from = 0, c = 0, s = 0, rest = row;
    for (int d = p.ndim - 1; d >= 0; --d) {
      const int64_t at = rest % p.sizes[d];
      from += at * p.x[d], c += at * p.cosine[d], s += at * p.sine[d];
      rest /= p.sizes[d];
    }
    typename E::Stored* const to = y + row * p.width;
    if (k >= p.pairs) {
      to[p.pairs + k] = x[from + p.pairs + k];
      continue;
    }
    const auto a = E::value(x[from + k]), b = E::value(x[from + p.pairs + k]), u = E::value(cosine[c + k]),
               v = E::value(sine[s + k]);
    to[k] = E::stored(a * u - b * v), to[p.pairs + k] = E::stored(b * u + a * v);
  }
}

struct Turning {
  RotaryRows rows;
  Code code;
  Transfer copies[3];
  int64_t copied[3];  // in the workspace; -1: it is read where it lies
};
void run(const Turning& p, const Pointers& at) {
  const void* in[3];
  for (int i = 0; i < 3; ++i) {
    in[i] = at.in[i];
    if (p.copied[i] < 0) continue;
    p.copies[i].run(at_place(at.workspace, p.copied[i]), at.in[i]);
    in[i] = at_place(at.workspace, p.copied[i]);
  }
  with_element(p.code, [&](auto e) {
    using E = decltype(e);
    using S = typename E::Stored;
    if constexpr (std::is_floating_point_v<typename E::Value>)
      launch(turn_rows<E>, grid_for(p.rows.rows * (p.rows.width - p.rows.pairs)), p.rows, static_cast<const S*>(in[0]),
             static_cast<const S*>(in[1]), static_cast<const S*>(in[2]), static_cast<S*>(at.out[0]));
  });
}
void plan(Call& c) {
  Operand read[] = {c.operand(arg::self), c.operand(arg::cos), c.operand(arg::sin)};
  Room room(c.plan);
  Turning& p = c.plan.make<run, Turning>();
  p.code = code_of(read[0].format);
  for (int i = 0; i < 3; ++i) {
    p.copied[i] = -1;
    if (read[i].stride(-1) == 1 || read[i].size(-1) == 1) continue;
    const Operand given = read[i];
    read[i] = Operand(given.sizes(), given.dtype());
    p.copies[i] = plan_transfer(read[i], given);
    p.copied[i] = room.take(read[i].count * read[i].itemsize());
  }
  p.rows = ops::rotary_rows(read[0], read[1], read[2]);
}
const Registered rotary_embedding{"rotary_embedding", {.plan = plan}};

}  // namespace
}  // namespace dyadic::gpu
