#include "cli/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace dyadic::inline v1::cli {

int64_t sample_token(std::span<const float> logits, const Sampling& how, double uniform) {
  struct Candidate {
    int64_t id;
    double p;  // first the logit, then its share
  };
  std::vector<Candidate> c;
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isfinite(logits[i])) c.push_back({int64_t(i), double(logits[i])});
  DY_CHECK(!c.empty(), "generate: the model's output is not finite: all {} logits are NaN or infinite; it did not train",
           logits.size());
  auto likelier = [](const Candidate& a, const Candidate& b) { return a.p != b.p ? a.p > b.p : a.id < b.id; };
  if (how.temperature == 0) return std::min_element(c.begin(), c.end(), likelier)->id;
  std::sort(c.begin(), c.end(), likelier);
  if (how.top_k > 0 && size_t(how.top_k) < c.size()) c.resize(size_t(how.top_k));
  double top = c.front().p, sum = 0;
  for (Candidate& x : c) sum += x.p = std::exp((x.p - top) / how.temperature);
  double kept = 0;
  size_t n = 0;
  while (n < c.size() && (n == 0 || kept < how.top_p * sum)) kept += c[n++].p;
  double target = uniform * kept, below = 0;
  for (size_t i = 0; i + 1 < n; ++i) {
    below += c[i].p;
    if (target < below) return c[i].id;
  }
  return c[n - 1].id;
}

}  // namespace dyadic::inline v1::cli
