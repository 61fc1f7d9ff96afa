// Connectionist temporal classification (Graves et al. 2006): the paths through a sequence of log-probabilities that spell a
// target once repeats and blanks are dropped. Position s of the extended target is a blank where s is even.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

struct CtcShape {
  int64_t time, batch, classes, longest, blank;  // longest: of the targets
  int64_t width() const { return 2 * longest + 1; }
};
CtcShape ctc_shape(const Call& c, int log_probs, int blank);

// The four tensors that a call begins with, log_probs, targets and lengths; before them another in backward.
struct CtcInputs {
  const void* log_probs;
  const int64_t *targets, *steps, *labels;  // the lengths of inputs and of targets
  explicit CtcInputs(void* const* in)
      : log_probs(in[0]),
        targets(static_cast<const int64_t*>(in[1])),
        steps(static_cast<const int64_t*>(in[2])),
        labels(static_cast<const int64_t*>(in[3])) {}
};
void check_values(const char* who, const CtcInputs& in, const CtcShape& s);

template <class T> struct CtcSequence {  // one of the batch
  const T* log_probs;                    // of its first step
  int64_t step;                          // elements from one step to the next
  const int64_t* target;
  int64_t blank, steps, positions;  // positions: of its own extended target

  int64_t label(int64_t s) const { return s & 1 ? target[s / 2] : blank; }
  bool skips(int64_t s) const { return s & 1 && s > 1 && label(s) != label(s - 2); }  // from s - 2, over the blank between
  double emitted(int64_t t, int64_t s) const { return double(log_probs[t * step + label(s)]); }
};
template <class T> CtcSequence<T> ctc_sequence(const CtcInputs& in, const CtcShape& s, int64_t n) {
  return {static_cast<const T*>(in.log_probs) + n * s.classes,
          s.batch * s.classes,
          in.targets + n * s.longest,
          s.blank,
          in.steps[n],
          2 * in.labels[n] + 1};
}

double log_sum(double a, double b);  // log(exp a + exp b)

}  // namespace dyadic::inline v1::ops
