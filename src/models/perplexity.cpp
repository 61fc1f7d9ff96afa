// Perplexity of a text in windows, and how far a model is from another one there.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/eval.h"
#include "models/mean.h"
#include "models/scores.h"
#include "models/vocabulary.h"

namespace dyadic::inline v1::models {
namespace {

struct Window {
  int64_t begin, end, from;  // tokens begin ... end - 1, scored from number `from` of them on
};

std::vector<Window> windows_of(int64_t tokens, const PerplexityOptions& o) {
  std::vector<Window> all;
  if (o.stride == 0) {
    DY_CHECK_AS(ValueError, tokens >= 2 * o.window,
                "perplexity: the text has {} tokens; windows of {} need {} at least: take a longer text, or a smaller window",
                tokens, o.window, 2 * o.window);
    for (int64_t at = 0; at + o.window <= tokens; at += o.window) all.push_back({at, at + o.window, o.window / 2 + 1});
    return all;
  }
  DY_CHECK_AS(ValueError, tokens >= 2, "perplexity: the text has {} tokens; there is none to predict from another", tokens);
  int64_t scored = 1;
  for (int64_t at = 0; scored < tokens; at += o.stride) {
    const int64_t end = std::min(at + o.window, tokens);
    all.push_back({at, end, std::max<int64_t>(scored - at, 1)});
    scored = end;
  }
  return all;
}

class Sums {
  std::vector<float> kl_;
  Mean nll_, change_, same_;
  double dp_ = 0;

 public:
  void add(const Tensor& rows, std::span<const int64_t> tokens) {
    const Tensor at = values_at(rows, tokens).contiguous();
    for (int64_t i = 0; i < at.numel(); ++i) nll_.add(-double(at.data<float>()[i]));
  }
  void compare(const Tensor& rows, const Tensor& base, std::span<const int64_t> tokens) {
    const Tensor kl = sum(exp(base) * (base - rows), {1}).contiguous().cpu();
    kl_.insert(kl_.end(), kl.data<float>(), kl.data<float>() + kl.numel());
    const Tensor same = eq(argmax(rows, 1), argmax(base, 1)).contiguous().cpu();
    const Tensor p = values_at(rows, tokens).contiguous(), q = values_at(base, tokens).contiguous();
    for (int64_t i = 0; i < p.numel(); ++i) {
      const auto ours = double(p.data<float>()[i]), its = double(q.data<float>()[i]);
      const double d = std::exp(ours) - std::exp(its);
      dp_ += d * d;
      change_.add(its - ours), same_.add(same.data<bool>()[i]);
    }
  }
  Perplexity result(const PerplexityOptions& o) {
    Perplexity r{.window = o.window, .stride = o.stride};
    r.tokens = nll_.count(), r.nll = nll_.value(), r.nll_stderr = nll_.standard_error();
    r.perplexity = std::exp(r.nll), r.perplexity_stderr = r.perplexity * r.nll_stderr;
    if (kl_.empty()) return r;
    Mean divergence;
    for (const float kl : kl_) divergence.add(double(kl));
    std::ranges::sort(kl_);
    const double place = .99 * double(kl_.size() - 1);  // between two of them
    const auto below = size_t(place);
    const double part = place - double(below), low = double(kl_[below]);
    r.divergence = {.kl_mean = divergence.value(),
                    .kl_stderr = divergence.standard_error(),
                    .kl_p99 = low + part * (double(kl_[std::min(below + 1, kl_.size() - 1)]) - low),
                    .nll_change = change_.value(),
                    .nll_change_stderr = change_.standard_error(),
                    .same_top = same_.value(),
                    .same_top_stderr = same_.standard_error(),
                    .rms_dp = std::sqrt(dp_ / double(kl_.size()))};
    return r;
  }
};

void check_vocabularies(int64_t base, int64_t model) {
  DY_CHECK_AS(ValueError, base == model, "perplexity: the base has a vocabulary of {}, and the model one of {}", base, model);
}

}  // namespace

Perplexity perplexity(CausalLM& m, const std::vector<int64_t>& ids, const PerplexityOptions& o) {
  DY_CHECK_AS(ValueError, o.window >= 4 && o.window <= (1 << 24), "perplexity: window is {}, below 4 or above 2^24", o.window);
  DY_CHECK_AS(ValueError, o.stride >= 0 && o.stride <= o.window, "perplexity: stride is {}, not in 0 ... {}, the window",
              o.stride, o.window);
  for (const CausalLM* one : {const_cast<const CausalLM*>(&m), const_cast<const CausalLM*>(o.base)})
    DY_CHECK_AS(ValueError, !one || one->most_tokens() == 0 || one->most_tokens() >= o.window,
                "perplexity: window is {}, and the model reads {} tokens", o.window, one->most_tokens());
  if (o.base && m.vocab_size() && o.base->vocab_size()) check_vocabularies(o.base->vocab_size(), m.vocab_size());
  const std::vector<Window> windows = windows_of(int64_t(ids.size()), o);
  Sums sums;
  int64_t done = 0;
  for (const Window& w : windows) {
    if (o.progress && !o.progress(o.context, done++, int64_t(windows.size()))) break;
    std::vector<int64_t> tokens(ids.begin() + w.begin, ids.begin() + w.end);
    if (o.stride == 0 && o.bos) tokens[0] = *o.bos;
    std::vector<Tensor> kept;
    const auto piece = [&](const Tensor& rows, int64_t first) {
      return std::span(tokens).subspan(size_t(first), size_t(rows.size(0)));
    };
    for_scores(m, o.kv.value_or(m.kv), tokens, w.from, [&](const Tensor& rows, int64_t first) {
      sums.add(rows, piece(rows, first));
      if (o.base) kept.push_back(rows);
    });
    if (!o.base) continue;
    size_t next = 0;
    for_scores(*o.base, o.base->kv, tokens, w.from, [&](const Tensor& rows, int64_t first) {
      check_vocabularies(rows.size(1), kept[0].size(1));
      sums.compare(kept[next++], rows, piece(rows, first));
    });
  }
  return sums.result(o);
}

Perplexity perplexity(CausalLM& m, const Tokenizer& tokenizer, std::string_view text, PerplexityOptions o) {
  const std::vector<int64_t> frame = tokenizer.encode("");
  if (!o.bos && !frame.empty() && frame[0] == tokenizer.bos_id()) o.bos = frame[0];
  std::vector<int64_t> ids = tokenizer.encode(text, false);
  if (o.bos) ids.insert(ids.begin(), *o.bos);
  check_ids("perplexity", m, tokenizer, ids);
  return perplexity(m, ids, o);
}

}  // namespace dyadic::inline v1::models
