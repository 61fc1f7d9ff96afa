#include "ops/loss/ctc_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dyadic::inline v1::ops::ctc_paths_op {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int kLogProbs = 0, kTargets = 1, kInputLengths = 2, kTargetLengths = 3, kBlank = 4;

void infer(Call& c) {
  const Tensor &x = c.tensor(kLogProbs), &targets = c.tensor(kTargets);
  DY_CHECK(x.dim() == 3 && (x.dtype() == f32 || x.dtype() == f64),
           "{}: log_probs is f32 or f64 [time, batch, classes]: it is {}", c.name, describe(x));
  DY_CHECK(targets.dim() == 2 && targets.dtype() == i64 && targets.size(0) == x.size(1),
           "{}: targets is i64 [batch, longest]: it is {}, log_probs is {}", c.name, describe(targets), describe(x));
  const int64_t time = x.size(0), batch = x.size(1), longest = targets.size(1);
  for (int arg : {kInputLengths, kTargetLengths})
    DY_CHECK(c.tensor(arg).dtype() == i64 && c.tensor(arg).sizes() == IntList({batch}),
             "{}: lengths are i64, one per sequence: {} for {} sequences", c.name, describe(c.tensor(arg)), batch);
  DY_CHECK(c.integer(kBlank) >= 0 && c.integer(kBlank) < x.size(2), "{}: blank is no class: {} of {}", c.name,
           c.integer(kBlank), x.size(2));
  c.nout = 2;
  for (Spec* s : {&c.spec[0], &c.spec[1]}) s->dtype = x.dtype(), s->device = x.device();
  c.spec[0].shape({batch});
  c.spec[1].shape({batch, time, 2 * longest + 1});
}

// alpha[t, s]: the log-probability of everything up to step t that ends at position s. Returns -log p of the whole target.
template <class T> double forward_paths(const CtcSequence<T>& q, int64_t width, T* alpha) {
  if (q.steps == 0) return q.positions == 1 ? 0 : -kNever;
  for (int64_t s = 0; s < q.positions; ++s) alpha[s] = T(s < 2 ? q.emitted(0, s) : kNever);
  for (int64_t t = 1; t < q.steps; ++t) {
    const T* before = alpha + (t - 1) * width;
    for (int64_t s = 0; s < q.positions; ++s) {
      double sum = double(before[s]);
      if (s > 0) sum = log_sum(sum, double(before[s - 1]));
      if (q.skips(s)) sum = log_sum(sum, double(before[s - 2]));
      alpha[t * width + s] = T(sum + q.emitted(t, s));
    }
  }
  const T* last = alpha + (q.steps - 1) * width;
  double p = double(last[q.positions - 1]);
  if (q.positions > 1) p = log_sum(p, double(last[q.positions - 2]));
  return -p;
}

template <class T> void run(const CtcShape& s, const Pointers& at) {
  const CtcInputs in(at.in + kLogProbs);
  check_values("ctc_paths", in, s);
  T *loss = static_cast<T*>(at.out[0]), *alpha = static_cast<T*>(at.out[1]);
  const int64_t all = s.time * s.width();
  parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(alpha + n * all, all, T(kNever));
      loss[n] = T(forward_paths(ctc_sequence<T>(in, s, n), s.width(), alpha + n * all));
    }
  });
}
void plan(Call& c) {
  const CtcShape s = ctc_shape(c, kLogProbs, kBlank);
  c.tensor(kLogProbs).dtype() == f64 ? c.plan.set<run<double>>(s) : c.plan.set<run<float>>(s);
}

void backward(Grad& g) {
  g.set(arg::log_probs, call(Op::ctc_paths_backward_, contiguous(g.g()), g.in(arg::log_probs), g.in(arg::targets),
                             g.in(kInputLengths), g.in(kTargetLengths), g.integer(kBlank), g.out(0), g.out(1)));
}
double flops(const Call& c) { return 8.0 * double(c.spec[1].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "ctc_paths(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor loss, "
        "Tensor log_alpha)",
    .doc =
        "Per sequence -log of the probability of its target, in log_probs [time, batch, classes] and targets int64 [batch, "
        "longest], and the log-probabilities of the beginnings of paths [batch, time, 2 longest + 1] (Graves et al. 2006).",
    .internal = true,
    .samples =
        "ctc_paths(randn(5, 1, 4), indices(4; 1, 2), indices(6; 1), indices(3; 1), 0)\n"
        "ctc_paths(randn(3, 1, 3), indices(3; 1, 1), indices(4; 1), indices(2; 1), 2)",
    .bad =
        "ctc_paths(zeros(3, 1, 2), indices(2; 1, 1), indices(5; 1), indices(2; 1), 0) => ctc_paths: input_lengths is out of "
        "range: "
        "4 of sequence 0; expected 0 to 3",
    .skip =
        "second_output: the beginnings are not differentiated\n"
        "double_backward: the gradient has none of its own, as in PyTorch\n"
        "result_dtype: f32 or f64\n"
        "values: ctc_loss converts\n"
        "narrow: ctc_loss converts\n"
        "scaled: ctc_loss converts",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::log_probs) | in(arg::targets) | in(arg::input_lengths) | in(arg::target_lengths) | out(0) | out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::ctc_paths_op
