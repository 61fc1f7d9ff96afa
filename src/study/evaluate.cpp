#include "study/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "dyadic/ops.h"
#include "study/statistics.h"

namespace dyadic::inline v1::study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Batch {
  Tensor x, y;
  int64_t first = 0;  // number of its first target
};
// Batches of equally long windows; a shorter last window is a batch of its own.
std::vector<Batch> batches(const Corpus& corpus, int64_t block, int64_t batch) {
  std::vector<Window> windows = validation_windows(corpus, block);
  std::vector<Batch> out;
  int64_t done = 0;
  CategoryScope scope(Category::data);
  for (size_t at = 0; at < windows.size();) {
    size_t n = 1;
    while (n < size_t(batch) && at + n < windows.size() && windows[at + n].length == windows[at].length) ++n;
    int64_t T = windows[at].length;
    Batch b{empty({int64_t(n), T}, i64), empty({int64_t(n), T}, i64), done};
    for (size_t i = 0; i < n; ++i) {
      corpus.copy(windows[at + i].begin, T, b.x.data<int64_t>() + int64_t(i) * T);
      corpus.copy(windows[at + i].begin + 1, T, b.y.data<int64_t>() + int64_t(i) * T);
    }
    done += int64_t(n) * T;
    out.push_back(std::move(b));
    at += n;
  }
  return out;
}

Tensor run(models::Gpt& model, const Tensor& x, DType compute) {
  nn::ModuleScope scope(model);
  if (!compute) return model.forward(x);
  Autocast low(compute);
  return model.forward(x);
}

}  // namespace

double Evaluation::mean() const {
  double sum = 0;
  for (float l : losses) sum += double(l);
  return losses.empty() ? kUnknown : sum / double(losses.size());
}

Evaluation evaluate(models::Gpt& model, const Corpus& corpus, int64_t batch, DType compute,
                    const std::function<void(const Tensor&, int64_t)>& each) {
  NoGrad guard;
  Evaluation e;
  for (const Batch& b : batches(corpus, model.config.block, batch)) {
    if (interrupted()) break;
    double t = now();
    Tensor logits = run(model, b.x, compute).view({-1, model.config.vocab}).to(f32);
    e.seconds += now() - t;
    Tensor l = cross_entropy(logits, b.y.view({-1}), "none");
    const float* p = l.data<float>();
    e.losses.insert(e.losses.end(), p, p + l.numel());
    if (each) each(logits, b.first);
  }
  return e;
}

StoredModel store_weights(const models::Gpt& source, DType format) {
  NoGrad guard;
  StoredModel s;
  s.model = std::make_unique<models::Gpt>(source.config, nn::Options{f32, meta});
  int64_t stored_bytes = 0, stored = 0;
  std::vector<std::string> matrices;
  if (format.is_scaled()) matrices = nn::quantizable(source, format).keys();
  for (auto& [name, t] : source.named_parameters()) {
    CategoryScope scope(Category::parameter);
    Tensor value = t.detach();
    if (format.is_scaled() ? std::find(matrices.begin(), matrices.end(), name) != matrices.end() : t.dim() >= 2) {
      value = value.to(format);
      stored_bytes += value.nbytes();
      stored += value.numel();
    }
    s.model->set_parameter(name, value);
  }
  s.bits_per_weight = stored ? 8.0 * double(stored_bytes) / double(stored) : kUnknown;
  s.bytes = s.model->nbytes();
  return s;
}

Reference evaluate_reference(models::Gpt& f32_model, const Corpus& corpus, int64_t batch) {
  constexpr int64_t kMostBytes = 256 << 20;
  Reference r{f32_model, {}, {}};
  const bool keep = corpus.val_size() <= kMostBytes / 4 / f32_model.config.vocab;
  r.evaluation = evaluate(f32_model, corpus, batch, {}, [&](const Tensor& logits, int64_t) {
    if (keep) r.logits.push_back(logits);
  });
  return r;
}

FormatResult evaluate_format(const Reference& reference, DType format, const Corpus& corpus, int64_t batch) {
  models::Gpt& f32_model = reference.model;
  const std::vector<float>& f32_losses = reference.evaluation.losses;
  FormatResult r;
  r.name = format.name();
  r.status = Status::running;
  StoredModel stored = store_weights(f32_model, format);
  r.bits_per_weight = stored.bits_per_weight;
  r.bytes = stored.bytes;
  std::vector<double> kl(f32_losses.size(), 0.0);
  std::vector<uint8_t> same(f32_losses.size(), 0);
  int64_t vocab = f32_model.config.vocab;
  std::vector<Batch> all = batches(corpus, f32_model.config.block, batch);
  size_t next = 0;
  reset_peak_memory_stats();
  int64_t workspace_before = memory_stats().live[size_t(Category::workspace)], workspace_peak = 0;
  Evaluation e = evaluate(*stored.model, corpus, batch, {}, [&](const Tensor& q, int64_t first) {
    workspace_peak = std::max(workspace_peak, memory_stats().peak[size_t(Category::workspace)] - workspace_before);
    const size_t at = next++;
    Tensor p = reference.logits.empty() ? run(f32_model, all[at].x, {}).view({-1, vocab}) : reference.logits[at];
    const Tensor divergence = kl_divergence(p, q);
    const Tensor agree = logical_and(eq(argmax(p, -1), argmax(q, -1)), logical_not(isnan(divergence)));
    std::copy_n(divergence.data<double>(), p.size(0), kl.begin() + first);
    std::copy_n(agree.data<uint8_t>(), p.size(0), same.begin() + first);
    reset_peak_memory_stats();
  });
  if (e.losses.size() != f32_losses.size()) return r;  // interrupted
  r.val_loss = e.mean();
  r.vs_f32 = compare(f32_losses, e.losses, f32_model.config.block);
  Mean divergence = mean_se(kl);
  r.kl = divergence.mean;
  r.kl_se = divergence.se;
  r.top1_agreement = double(std::count(same.begin(), same.end(), 1)) / double(same.size());
  r.tokens_per_s = double(e.losses.size()) / e.seconds;
  r.workspace = workspace_peak;
  r.status = Status::done;
  return r;
}

}  // namespace dyadic::inline v1::study
