#include "models/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace dyadic::inline v1::models {

void check(const GenerateOptions& o) {
  DY_CHECK_AS(ValueError, o.max_new_tokens >= 0, "generate: max_new_tokens is {}, below 0", o.max_new_tokens);
  DY_CHECK_AS(ValueError, o.prompt_chunk >= 1, "generate: prompt_chunk is {}, below 1", o.prompt_chunk);
  DY_CHECK_AS(ValueError, o.repetition_penalty > 0, "generate: repetition_penalty is {}, not above 0", o.repetition_penalty);
  DY_CHECK_AS(ValueError, o.temperature > 0 || (o.temperature == 0 && !o.do_sample),
              "generate: temperature is {}, not above 0; do_sample=False takes the likeliest token", o.temperature);
  DY_CHECK_AS(ValueError, o.top_k >= 0, "generate: top_k is {}, below 0", o.top_k);
  DY_CHECK_AS(ValueError, o.top_p > 0 && o.top_p <= 1, "generate: top_p is {}, not in (0, 1]", o.top_p);
  DY_CHECK_AS(ValueError, o.stop_strings.empty() || o.tokenizer, "generate: stop_strings need the tokenizer");
  for (const std::string& s : o.stop_strings)
    DY_CHECK_AS(ValueError, !s.empty(), "generate: a stop string is empty; leave it out");
  DY_CHECK_AS(ValueError, !o.cache || !o.kv, "generate: kv is for a cache that is made here; the one given has its formats");
  DY_CHECK_AS(ValueError, o.min_p >= 0 && o.min_p <= 1, "generate: min_p is {}, not in [0, 1]", o.min_p);
}

namespace {

// The logits, those of seen tokens less likely.
std::vector<Candidate> penalized(std::span<const float> logits, std::span<const int64_t> seen, double penalty) {
  std::vector<double> x(logits.begin(), logits.end());
  if (penalty != 1) {
    std::vector<int64_t> once(seen.begin(), seen.end());
    std::ranges::sort(once);
    once.erase(std::unique(once.begin(), once.end()), once.end());
    for (int64_t id : once)
      if (id >= 0 && size_t(id) < x.size())
        x[size_t(id)] = x[size_t(id)] < 0 ? x[size_t(id)] * penalty : x[size_t(id)] / penalty;
  }
  std::vector<Candidate> all;
  for (size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(x[i])) all.push_back({int64_t(i), x[i]});
  DY_CHECK_AS(ValueError, !all.empty(), "generate: all {} logits are NaN or infinite", logits.size());
  return all;
}

bool likelier(const Candidate& a, const Candidate& b) { return a.p != b.p ? a.p > b.p : a.id < b.id; }

void normalize(std::vector<Candidate>& c) {
  double sum = 0;
  for (const Candidate& x : c) sum += x.p;
  for (Candidate& x : c) x.p /= sum;
}

}  // namespace

std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> seen, const GenerateOptions& o) {
  std::vector<Candidate> c = penalized(logits, seen, o.repetition_penalty);
  if (o.top_k > 0 && size_t(o.top_k) < c.size()) {
    std::nth_element(c.begin(), c.begin() + (o.top_k - 1), c.end(), likelier);
    c.resize(size_t(o.top_k));
  }
  std::ranges::sort(c, likelier);
  const double top = c.front().p;
  for (Candidate& x : c) x.p = std::exp((x.p - top) / o.temperature);
  normalize(c);
  if (o.top_p < 1) {
    double sum = 0;
    size_t n = 0;
    while (n < c.size() && (n == 0 || sum < o.top_p)) sum += c[n++].p;
    c.resize(n);
    normalize(c);
  }
  if (o.min_p > 0) {
    const double least = o.min_p * c.front().p;
    std::erase_if(c, [least](const Candidate& x) { return x.p < least; });
    normalize(c);
  }
  return c;
}

int64_t choose(std::span<const float> logits, std::span<const int64_t> seen, const GenerateOptions& o, double uniform) {
  if (!o.do_sample) {
    const std::vector<Candidate> all = penalized(logits, seen, o.repetition_penalty);
    return std::ranges::min_element(all, likelier)->id;
  }
  const std::vector<Candidate> c = candidates(logits, seen, o);
  double below = 0;
  for (const Candidate& x : c) {
    below += x.p;
    if (uniform < below) return x.id;
  }
  return c.back().id;
}

}  // namespace dyadic::inline v1::models
