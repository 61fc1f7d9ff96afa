#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/loss/ctc_paths.h"

namespace dyadic::inline v1::ops::ctc_paths_backward_op {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int kLogProbs = 1, kBlank = 5, kLoss = 6, kAlpha = 7;

void infer(Call& c) {
  const Tensor& x = c.tensor(kLogProbs);
  for (int i : {0, kLogProbs, kLoss, kAlpha})
    DY_CHECK_AS(TypeError, c.tensor(i).dtype() == x.dtype() && (x.dtype() == f32 || x.dtype() == f64),
                "{}: all are f32 or all f64: one is {}", c.name, describe(c.tensor(i)));
  c.spec[0].dtype = x.dtype();
  c.spec[0].device = x.device();
  c.spec[0].shape(x.sizes());
}

// beta[s], walked backwards in time: the log-probability of what follows position s. A path that stands at s at step t has
// probability alpha beta / p, and the loss falls by as much per unit of log_probs there.
template <class T>
void spread(const CtcSequence<T>& q, double g, double loss, const T* alpha, int64_t width, double* beta, T* gradient) {
  for (int64_t s = 0; s < q.positions; ++s) beta[s] = s + 2 >= q.positions ? 0 : kNever;
  for (int64_t t = q.steps; t-- > 0;) {
    for (int64_t s = 0; s < q.positions; ++s) {
      if (t + 1 < q.steps) {  // in place: position s asks for those from s on
        double sum = beta[s] + q.emitted(t + 1, s);
        if (s + 1 < q.positions) sum = log_sum(sum, beta[s + 1] + q.emitted(t + 1, s + 1));
        if (s + 2 < q.positions && q.skips(s + 2)) sum = log_sum(sum, beta[s + 2] + q.emitted(t + 1, s + 2));
        beta[s] = sum;
      }
      gradient[t * q.step + q.label(s)] -= T(g * std::exp(double(alpha[t * width + s]) + beta[s] + loss));
    }
  }
}

template <class T> void run(const CtcShape& s, const Pointers& at) {
  const CtcInputs in(at.in + kLogProbs);
  check_values("ctc_paths_backward", in, s);
  // Tensors count on their own: blank, which stands before the last two, is a number.
  const T *g = static_cast<const T*>(at.in[0]), *loss = static_cast<const T*>(at.in[kLoss - 1]),
          *alpha = static_cast<const T*>(at.in[kAlpha - 1]);
  T* gradient = static_cast<T*>(at.out[0]);
  std::fill_n(gradient, s.time * s.batch * s.classes, T(0));
  parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      if (g[n] != 0)  // a loss that is infinite and was replaced sends none
        spread(ctc_sequence<T>(in, s, n), double(g[n]), double(loss[n]), alpha + n * s.time * s.width(), s.width(),
               static_cast<double*>(at.workspace) + n * s.width(), gradient + n * s.classes);
  });
}
void plan(Call& c) {
  const CtcShape s = ctc_shape(c, kLogProbs, kBlank);
  c.plan.workspace = s.batch * s.width() * 8;
  c.tensor(kLogProbs).dtype() == f64 ? c.plan.set<run<double>>(s) : c.plan.set<run<float>>(s);
}
double flops(const Call& c) { return 12.0 * double(c.tensor(kAlpha).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "ctc_paths_backward(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
        "blank, "
        "Tensor loss, Tensor log_alpha) -> Tensor",
    .doc =
        "The gradient of ctc_paths for log_probs: -grad times the probability, given the target, of each class at each step.",
    .internal = true,
    .samples =
        "ctc_paths_backward(randn(1), zeros(2, 1, 2), indices(2; 1, 1), indices(3; 1), indices(2; 1), 0, zeros(1), zeros(1, 2, "
        "3))",
    .skip =
        "gradcheck: a gradient without one of its own, as in PyTorch\n"
        "double_backward: it has no first one\n"
        "result_dtype: log_probs' own\n"
        "values: ctc_loss converts\n"
        "narrow: ctc_loss converts\n"
        "scaled: ctc_loss converts",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::ctc_paths_backward_op
