#include "corridor/batching.h"
#include "ops/linalg/determinant.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops::linalg_det_op {
namespace {

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_square("linalg.det", a, "A");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {});
}

template <class T> struct Routine : Determinants<T> {
  T* det;
  Routine(const Matrices& given, Scratch& s) : Determinants<T>(given, s), det(s.take<T>(this->batch)) {}
  void run() {
    this->factor([&](int64_t i, int sign, const T* diagonal, int64_t step) {
      T d(sign);
      for (int k = 0; k < this->n; ++k) d *= diagonal[k * step];
      det[i] = d;
    });
    store(this->given.out[0], det, dtype_for<T>());
  }
};

// prod of all entries of the last dimension but each one.
Tensor products_of_others(const Tensor& s) {
  const Tensor one = ones_like(narrow(s, -1, 0, 1).detach());
  auto before = [&](const Tensor& t) {
    const Tensor parts[] = {one, cumprod(narrow(t, -1, 0, t.size(-1) - 1), -1)};
    return cat(parts, -1);
  };
  return mul(before(s), flip(before(flip(s, {-1})), {-1}));
}

// d det = det tr(A^-1 dA); for singular matrices by singular values, A = U S Vh: det(U) det(Vh) sum_i (U^H dA V)_ii
// prod_{j != i} s_j.
void backward(Grad& g) {
  const Tensor a = g.in(arg::A), det = g.out(0), scale = unsqueeze(unsqueeze(g.g(), -1), -1);
  const bool regular = a.is_meta() || a.numel() == 0 || all(every_entry(ne(det.detach(), 0))).item<bool>();
  if (regular) {
    const Tensor inverse = call_all(Op::linalg_inv_ex_, a, false)[0];
    return g.set(arg::A, mul(mul(scale, conj(unsqueeze(unsqueeze(det, -1), -1))), mH(inverse)));
  }
  const std::vector<Tensor> r = call_all(Op::linalg_svd_, a, true, Arg());
  const Tensor u = r[0], vh = r[2], others = to(products_of_others(r[1]), a.dtype());
  const Tensor turn = conj(mul(call(Op::linalg_det_, u), call(Op::linalg_det_, vh)));
  g.set(arg::A, mul(mul(scale, unsqueeze(unsqueeze(turn, -1), -1)), matmul(mul(u, unsqueeze(others, -2)), vh)));
}
double flops(const Call& c) { return lu_flops(c[arg::A]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_det(Tensor A) -> Tensor",
    .doc = "The determinants of square matrices, [..., n, n] -> [...], by LU factors; 1 for n = 0.",
    .amp = Amp::f32,
    .samples =
        "linalg_det(randn(3, 3))\n"
        "linalg_det(randn(2, 2, 3, 3))\n"
        "linalg_det(zeros(0, 0))\n"
        "linalg_det(zeros(2, 0, 0))\n"
        "linalg_det(zeros(0, 2, 2))",
    .bad = "linalg_det(zeros(2, 3)) => linalg.det: needs square matrices: A is f32[2, 3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A) | out(0)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_det_op
