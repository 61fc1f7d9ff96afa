#include <cmath>

#include "corridor/batching.h"
#include "ops/linalg/determinant.h"

namespace dyadic::inline v1::ops::linalg_slogdet_op {
namespace {

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_square("linalg.slogdet", a, "A");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {});
  set_spec(c.spec[1], a, plain(a).to_real(), batch_of(a), {});
  c.nout = 2;
}

template <class T> struct Routine : Determinants<T> {
  using R = lapack::Real<T>;
  T* sign;
  R* log;
  Routine(const Matrices& given, Scratch& s)
      : Determinants<T>(given, s), sign(s.take<T>(this->batch)), log(s.take<R>(this->batch)) {}
  void run() {
    this->factor([&](int64_t i, int odd, const T* diagonal, int64_t step) {
      T turn(odd);
      R sum(0);
      for (int k = 0; k < this->n; ++k) {
        const R size = std::abs(diagonal[k * step]);
        turn *= size == 0 ? T(0) : diagonal[k * step] / size;
        sum += std::log(size);
      }
      sign[i] = turn;
      log[i] = sum;
    });
    store(this->given.out[0], sign, dtype_for<T>());
    store(this->given.out[1], log, dtype_for<R>());
  }
};

// With t = tr(A^-1 dA): d logabsdet = Re t, d sign = i sign Im t.
void backward(Grad& g) {
  const Tensor a = g.in(arg::A), sign = g.out(0);
  Tensor c = g.g(1);
  if (a.dtype().is_complex()) {
    const Tensor none = zeros(sign.sizes(), a.dtype().to_real(), a.device());
    const Tensor turn = g.g(0).defined() ? imag(mul(conj(g.g(0)), sign)) : none;
    c = complex(c.defined() ? c : none, neg(turn));
  }
  if (!c.defined()) return;
  g.set(arg::A, mul(unsqueeze(unsqueeze(c, -1), -1), mH(call_all(Op::linalg_inv_ex_, a, false)[0])));
}
double flops(const Call& c) { return lu_flops(c[arg::A]) + 10 * double(c.spec[0].numel()) * double(c[arg::A].size(-1)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    .doc =
        "The sign (of complex matrices: of absolute value 1) of each determinant and the logarithm of its absolute value: 0 "
        "and "
        "-inf for a singular matrix. det = sign * exp(logabsdet), without overflow.",
    .amp = Amp::f32,
    .samples =
        "linalg_slogdet(randn(3, 3))\n"
        "linalg_slogdet(randn(2, 2, 3, 3))\n"
        "linalg_slogdet(zeros(0, 0))\n"
        "linalg_slogdet(zeros(0, 2, 2))",
    .bad = "linalg_slogdet(zeros(3)) => linalg.slogdet: needs a matrix, or a batch of them: A is f32[3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A) | out(0)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_slogdet_op
