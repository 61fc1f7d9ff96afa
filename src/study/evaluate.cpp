#include "study/evaluate.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "data/each_tensor.h"
#include "device/limit.h"
#include "dyadic/interrupt.h"
#include "dyadic/ops.h"
#include "nn/device_of.h"
#include "study/statistics.h"
#include "study/stored.h"

namespace dyadic::inline v1::study {
namespace {

void take(Judged& subject, nn::Module& model, const data::Value& batch, Tensor* logits, Evaluation& e) {
  const double begin = seconds_now();
  const Tensor l = subject.losses(model, batch, logits).to(cpu);
  e.seconds += seconds_now() - begin;
  e.losses.insert(e.losses.end(), l.data<float>(), l.data<float>() + l.numel());
  if (const Tensor m = subject.metric(model, batch); m.defined()) {
    const Tensor here = m.to(cpu);
    e.values.insert(e.values.end(), here.data<double>(), here.data<double>() + here.numel());
  }
}

}  // namespace

InEvaluation::InEvaluation(nn::Module& model) {
  for (auto& [name, module] : model.named_modules()) before_.emplace_back(module, module->training());
  model.eval();
}
InEvaluation::~InEvaluation() {
  for (auto& [module, training] : before_) module->set_training(training);
}

Judged::~Judged() = default;
Tensor Judged::metric(nn::Module&, const data::Value&) { return {}; }

double Evaluation::mean() const {
  double sum = 0;
  for (float l : losses) sum += double(l);
  return losses.empty() ? kUnknown : sum / double(losses.size());
}

Evaluation evaluate(Judged& subject, nn::Module& model, int64_t size, DType compute, const EachBatch& each) {
  NoGrad guard;
  InEvaluation evaluating(model);
  Evaluation e;
  const Device device = nn::device_of(model);
  subject.evaluation(size, [&](const data::Value& made) {
    if (interrupted()) return false;
    const data::Value batch = device.is_cuda() ? data::brought(made, device) : made;
    Tensor logits;
    if (compute) {
      Autocast low(compute);
      take(subject, model, batch, each ? &logits : nullptr, e);
    } else {
      take(subject, model, batch, each ? &logits : nullptr, e);
    }
    if (each) each(batch, logits);
    return true;
  });
  return e;
}

// The root of a mean: what one value changes of it, about it (the delta method), so that their mean is the root and their
// spread its error.
static std::vector<float> contributions(const std::vector<double>& values, const Measure& m) {
  const double mean = mean_se(values).mean, root = std::sqrt(mean), sign = m.larger ? -1 : 1;
  std::vector<float> all;
  for (double v : values) all.push_back(float(sign * (m.root ? root > 0 ? v / (2 * root) + root / 2 : 0 : v)));
  return all;
}

double metric_of(const std::vector<double>& values, const Measure& m) {
  const double mean = mean_se(values).mean;
  return m.root ? std::sqrt(mean) : mean;
}

LossDelta compare_metric(std::span<const Evaluation> f32, std::span<const Evaluation> other, const Measure& m, int64_t window) {
  std::vector<std::vector<float>> all;
  std::vector<PairedLosses> pairs;
  for (size_t k = 0; k < other.size(); ++k) {
    if (f32[k].values.empty() || other[k].values.empty()) return {};
    all.push_back(contributions(f32[k].values, m));
    all.push_back(contributions(other[k].values, m));
  }
  for (size_t k = 0; k < all.size(); k += 2) pairs.push_back({all[k], all[k + 1]});
  const bool each_item = f32[0].values.size() == f32[0].losses.size();
  return compare(pairs, each_item ? window : 1);
}

LossDelta judge(Judged& subject, const Measure& m, const Evaluation& from, const Evaluation& to) {
  if (m.metric.empty()) return compare(from.losses, to.losses, subject.window());
  return compare_metric({&from, 1}, {&to, 1}, m, subject.window());
}
double judged_mean(const Measure& m, const Evaluation& e) { return m.metric.empty() ? e.mean() : metric_of(e.values, m); }

Reference evaluate_reference(Judged& subject, nn::Module& f32_model, int64_t size, const Measure& measure) {
  const int64_t most = memory_limit() ? 0 : 256 << 20;
  Reference r{subject, f32_model, size, measure, {}, {}};
  int64_t bytes = 0;
  r.evaluation = evaluate(subject, f32_model, size, {}, [&](const data::Value&, const Tensor& logits) {
    if (logits.defined()) bytes += logits.nbytes();
    if (logits.defined() && bytes <= most) r.logits.push_back(logits);
  });
  if (bytes > most) r.logits.clear();
  return r;
}

// stored: what puts the format into the reference's own model; null for another model.
static FormatResult beside(const Reference& reference, nn::Module& model, StoredWeights* stored, FormatResult r) {
  const std::vector<float>& f32_losses = reference.evaluation.losses;
  r.status = Status::running;
  std::vector<double> kl;
  int64_t agreed = 0;
  size_t next = 0;
  const Device device = nn::device_of(model);
  reset_peak_memory_stats(device);
  int64_t workspace_before = memory_stats(device).live[size_t(Category::workspace)], workspace_peak = 0;
  Evaluation e = evaluate(reference.subject, model, reference.size, {}, [&](const data::Value& batch, const Tensor& q) {
    workspace_peak = std::max(workspace_peak, memory_stats(device).peak[size_t(Category::workspace)] - workspace_before);
    if (q.defined()) {
      Tensor p;
      if (reference.logits.empty()) {
        if (stored) stored->out();
        reference.subject.losses(reference.model, batch, &p);
        if (stored) stored->in();
      } else {
        p = reference.logits[next++];
      }
      const Tensor divergence = kl_divergence(p, q).to(cpu);
      const Tensor agree = logical_and(eq(argmax(p, -1), argmax(q, -1)).to(cpu), logical_not(isnan(divergence)));
      kl.insert(kl.end(), divergence.data<double>(), divergence.data<double>() + p.size(0));
      agreed += std::count(agree.data<uint8_t>(), agree.data<uint8_t>() + p.size(0), 1);
    }
    reset_peak_memory_stats(device);
  });
  if (e.losses.size() != f32_losses.size()) return r;  // interrupted
  r.val_loss = e.mean();
  r.vs_f32 = compare(f32_losses, e.losses, reference.subject.window());
  if (!e.values.empty()) {
    r.metric = metric_of(e.values, reference.measure);
    r.metric_vs_f32 = compare_metric({&reference.evaluation, 1}, {&e, 1}, reference.measure, reference.subject.window());
  }
  if (!kl.empty()) {
    Mean divergence = mean_se(kl);
    r.kl = divergence.mean;
    r.kl_se = divergence.se;
    r.top1_agreement = double(agreed) / double(kl.size());
  }
  r.tokens_per_s = double(e.losses.size()) / e.seconds;
  r.workspace = workspace_peak;
  r.status = Status::done;
  return r;
}

FormatResult evaluate_format(const Reference& reference, DType format) {
  StoredWeights stored(stored_in(reference.model, format), format, reference.subject.all_stored());
  FormatResult r;
  r.name = format.name();
  r.bits_per_weight = stored.bits_per_weight();
  r.bytes = reference.model.nbytes() - stored.surplus();
  return beside(reference, reference.model, &stored, std::move(r));
}

FormatResult evaluate_stored(const Reference& reference, nn::Module& model, const std::string& name) {
  FormatResult r;
  r.name = name;
  r.bytes = model.nbytes();
  int64_t bytes = 0, elements = 0;
  for (auto& [path, t] : model.named_parameters())
    if (t.dtype().is_scaled()) bytes += t.nbytes(), elements += t.numel();
  if (elements) r.bits_per_weight = 8.0 * double(bytes) / double(elements);
  return beside(reference, model, nullptr, std::move(r));
}

}  // namespace dyadic::inline v1::study
