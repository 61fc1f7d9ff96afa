#include <cmath>

#include "ops/loss/ctc_paths.h"

namespace dyadic::inline v1::ops {

CtcShape ctc_shape(const Call& c, int log_probs, int blank) {
  const Tensor &x = c.tensor(log_probs), &targets = c.tensor(log_probs + 1);
  return {x.size(0), x.size(1), x.size(2), targets.size(1), c.integer(blank)};
}

double log_sum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return std::isinf(low) && low < 0 ? high : high + std::log1p(std::exp(low - high));
}

void check_values(const char* who, const CtcInputs& in, const CtcShape& s) {
  auto check = [&](const int64_t* lengths, const char* name, int64_t most) {
    for (int64_t n = 0; n < s.batch; ++n)
      DY_CHECK(lengths[n] >= 0 && lengths[n] <= most, "{}: {} is out of range: {} of sequence {}; expected 0 to {}", who, name,
               lengths[n], n, most);
  };
  check(in.steps, "input_lengths", s.time);
  check(in.labels, "target_lengths", s.longest);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t i = 0; i < in.labels[n]; ++i) {
      const int64_t label = in.targets[n * s.longest + i];
      DY_CHECK_AS(IndexError, label >= 0 && label < s.classes,
                  "{}: target out of range: target {} of sequence {} is {}; there are {} classes", who, i, n, label, s.classes);
    }
}

}  // namespace dyadic::inline v1::ops
