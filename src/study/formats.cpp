// A trained module in every weight format, judged by its owner's evaluation.
#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "base/clock.h"
#include "dyadic/autograd.h"
#include "dyadic/interrupt.h"
#include "dyadic/ops.h"
#include "dyadic/study.h"
#include "dyadic/version.h"
#include "study/conclude.h"
#include "study/recommend.h"
#include "study/request.h"
#include "study/save_report.h"
#include "study/statistics.h"
#include "study/stored.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::study {
namespace {

std::vector<double> numbers(nn::Module& model, const Evaluate& evaluate) {
  const Tensor t = evaluate(model);
  DY_CHECK_AS(ValueError, t.defined() && t.numel() > 0, "formats: evaluate gave no number: {}",
              t.defined() ? describe(t) : "nothing");
  return t.detach().to(f64).to_vector();
}

// A single number has no spread: what is lost is what it shows.
LossDelta difference(const Measure& m, const std::vector<double>& plain, const std::vector<double>& stored) {
  if (stored.size() > 1) {
    Evaluation a, b;
    a.values = plain, b.values = stored;
    return compare_metric({&a, 1}, {&b, 1}, m, 1);
  }
  LossDelta d;
  d.delta = d.upper = (stored[0] - plain[0]) * (m.larger ? -1 : 1);
  return d;
}

FormatResult judge(nn::Module& model, const std::string& format, const Evaluate& evaluate, const Measure& m,
                   const std::vector<double>& plain) {
  FormatResult r;
  r.name = format;
  const DType dtype = DType::parse(format);
  const StoredWeights stored(stored_in(model, dtype), dtype, false);
  r.bits_per_weight = stored.bits_per_weight();
  r.bytes = model.nbytes() - stored.surplus();
  const double begin = seconds_now();
  const std::vector<double> values = numbers(model, evaluate);
  DY_CHECK_AS(ValueError, values.size() == plain.size(), "formats: evaluate gave {} numbers, and {} for f32", values.size(),
              plain.size());
  r.tokens_per_s = double(values.size()) / (seconds_now() - begin);
  const LossDelta d = format == "f32" ? no_difference() : difference(m, plain, values);
  (m.metric.empty() ? r.val_loss : r.metric) = mean_se(values).mean;
  (m.metric.empty() ? r.vs_f32 : r.metric_vs_f32) = d;
  r.status = Status::done;
  return r;
}

}  // namespace

Study formats(nn::Module& model, const Evaluate& evaluate, const FormatsOptions& o) {
  DY_CHECK_AS(ValueError, evaluate, "formats: there is no evaluate; pass a function of the model");
  check_tolerance("formats", "tolerance", o.tolerance);
  for (auto& [name, t] : model.named_parameters())
    DY_CHECK_AS(ValueError, t.dtype() == f32 || !(t.dtype().is_floating_point() || t.dtype().is_scaled()),
                "formats: {} is {}, and formats are compared with f32; pass the model in f32", name, t.dtype().name());
  DY_CHECK_AS(ValueError, !stored_in(model, bf16).empty(),
              "formats: {} has no weights to store: no parameter has two dimensions", model.kind());
  DY_CHECK_AS(ValueError, o.out.empty() || !std::filesystem::exists(o.out + "/report.json"),
              "formats: {} already holds a report; pass another out", o.out);
  DY_CHECK_AS(ValueError, !o.larger_is_better || !o.metric.empty(),
              "formats: larger is better of a metric; give it a name: metric = \"accuracy\"");
  if (!o.out.empty()) check_writable(o.out, "out");
  NoGrad guard;
  const double begin = seconds_now();
  Study found;
  StudyResult& s = found.result;
  s.version = DYADIC_VERSION;
  s.model.kind = model.kind();
  s.model.preset = o.name.empty() ? s.model.kind : o.name;
  s.model.parameters = model.num_parameters();
  s.measure = {"sample", "", o.metric, o.larger_is_better, false};
  s.options.tolerance = o.tolerance;
  s.options.formats = weight_formats(model, o.formats);
  s.machine = this_machine();
  found.folder = o.out;
  const std::vector<double> plain = numbers(model, evaluate);
  if (plain.size() == 1) s.notes.push_back("The evaluation gave one number for each format: its error is not known.");
  for (const std::string& format : s.options.formats) {
    if (interrupted()) {
      found.interrupted = true;
      break;
    }
    s.formats.push_back(judged_or_failed(format, [&] { return judge(model, format, evaluate, s.measure, plain); }));
  }
  s.complete = !found.interrupted;
  s.seconds = seconds_now() - begin;
  s.recommendation = recommend(s);
  if (!o.out.empty()) save_report(s, o.out);
  return found;
}

}  // namespace dyadic::inline v1::study
