// The study of one's own model: what dyadic/study.h offers.
#include "dyadic/study.h"

#include "account/machine.h"
#include "base/check.h"
#include "device/limit.h"
#include "dyadic/ops.h"
#include "study/numbers.h"
#include "study/own_subject.h"
#include "study/report_html.h"
#include "study/report_json.h"
#include "study/report_text.h"
#include "study/request.h"
#include "study/run.h"
#include "study/text_table.h"
#include "study/trainer.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::study {
namespace {

// One number per sample: the mean over what else there is.
Tensor per_sample(const Tensor& t) { return t.dim() > 1 ? mean(t.flatten(1), {-1}) : t; }

}  // namespace

std::string Study::text(int width, bool color) const { return report_text(result, {.width = width, .color = color}); }
std::string Study::html() const { return report_html(result); }
std::string Study::json() const { return report_json(result); }

Metric accuracy() {
  return {"accuracy",
          [](nn::Module& model, const data::Value& batch) {
            const Tensor outputs = model(batch[0]);
            return eq(argmax(outputs, -1), batch[1].tensor()).to(f64);
          },
          true};
}

Metric rmse() {
  return {"RMSE",
          [](nn::Module& model, const data::Value& batch) {
            const Tensor outputs = model(batch[0]).to(f64), wanted = batch[1].tensor().to(f64);
            DY_CHECK_AS(ValueError, outputs.sizes() == wanted.sizes(), "rmse: outputs and targets differ: {} and {}",
                        describe(outputs), describe(wanted));
            return per_sample(square(outputs - wanted));
          },
          false, true};
}

Study study(const MakeModel& make_model, const Batches& batches, const Loss& loss, const StudyOptions& o) {
  DY_CHECK_AS(ValueError, loss, "study: there is no loss; pass a function of the model and a batch");
  DY_CHECK_AS(ValueError, o.metric.name.empty() == !o.metric.function, "study: the metric has a {} and no {}",
              o.metric.function ? "function" : "name, " + o.metric.name + ",", o.metric.function ? "name" : "function");
  DY_CHECK_AS(ValueError, o.device == cpu || o.device.is_cuda(), "study: device is {}; cpu, or a cuda device", o.device.name());
  DY_CHECK_AS(ValueError, !o.schedule.empty() || o.schedule_options.begin() == o.schedule_options.end(),
              "study: schedule_options are of a schedule; name that too");
  OwnSubject subject(make_model, batches, loss, o);
  StudyRequest q;
  q.recipes = o.recipes;
  q.formats = o.formats;
  q.steps = o.steps;
  q.time_s = o.time_s;
  q.seeds = o.seeds;
  q.tolerance = o.tolerance;
  q.minimize = o.minimize;
  q.per_layer = o.per_layer;
  q.shadow = o.shadow;
  q.name = o.name.empty() ? subject.kind() : o.name;
  q.out = o.out;
  q.resume = o.resume;
  q.plan = {1000, o.seed, o.clip, o.device};
  DY_CHECK_AS(ValueError, o.memory_limit >= 0, "study: memory_limit is {}; bytes, above 0", o.memory_limit);
  const OtherLimit limit(o.memory_limit ? o.memory_limit : memory_limit());
  DY_CHECK_AS(ValueError, !o.steps || !o.time_s, "study: steps and time exclude each other; give one");
  train::Progress progress(o.progress ? train::Progress::standard_error() : train::Progress::silent());
  return run_study(subject, q, progress);
}

std::vector<Prediction> predict(const MakeModel& make_model, const data::Value& batch, const PredictOptions& o) {
  StudyOptions as_study;
  as_study.optimizer = o.optimizer;
  as_study.optimizer_options = o.optimizer_options;
  OwnSubject subject(make_model, batch, o.loss, as_study, true);
  const int64_t memory = account::machine_info().memory;
  std::vector<Prediction> all;
  for (const Recipe& r : named_recipes(o.recipes)) {
    const DryRun run = predict(subject, r, Plan());
    all.push_back({r.name, run.bytes, run.flops, memory <= 0 || *run.bytes.peak.predicted < memory});
  }
  return all;
}

std::string text(const std::vector<Prediction>& predictions, int width, bool color) {
  TextTable t;
  t.columns = {{"recipe", true, 0},  {"params", false, 0}, {"grads", false, 0},     {"states", false, 0},
               {"activ.", false, 0}, {"peak", false, 0},   {"FLOP/step", false, 0}, {"fits", false, 0}};
  for (const Prediction& p : predictions) {
    const Bytes& b = p.bytes;
    t.rows.push_back({p.recipe, bytes_text(b.parameters.predicted), bytes_text(b.gradients.predicted),
                      bytes_text(b.optimizer.predicted), bytes_text(b.activations.predicted), bytes_text(b.peak.predicted),
                      quantity_text(p.flops_per_step), p.fits ? "yes" : "no"});
    t.styles.push_back("");
  }
  return t.text(width, color);
}

}  // namespace dyadic::inline v1::study
