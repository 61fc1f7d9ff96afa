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
// Of the lengths and the labels, which follow the argument `first`, log_probs.
void check_values(const Call& c, int first, const CtcShape& s);

template <class T> struct CtcSequence {  // one of the batch
  const T* log_probs;                    // of its first step
  int64_t step;                          // elements from one step to the next
  const int64_t* target;
  int64_t blank, steps, positions;  // positions: of its own extended target

  int64_t label(int64_t s) const { return s & 1 ? target[s / 2] : blank; }
  bool skips(int64_t s) const { return s & 1 && s > 1 && label(s) != label(s - 2); }  // from s - 2, over the blank between
  double emitted(int64_t t, int64_t s) const { return double(log_probs[t * step + label(s)]); }
};
template <class T> CtcSequence<T> ctc_sequence(const Call& c, int first, const CtcShape& s, int64_t n) {
  return {c.tensor(first).data<T>() + n * s.classes,
          s.batch * s.classes,
          c.tensor(first + 1).data<int64_t>() + n * s.longest,
          s.blank,
          c.tensor(first + 2).data<int64_t>()[n],
          2 * c.tensor(first + 3).data<int64_t>()[n] + 1};
}

double log_sum(double a, double b);  // log(exp a + exp b)

}  // namespace dyadic::inline v1::ops
