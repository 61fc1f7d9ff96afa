// Evaluation: all of the subject's evaluation batches, one loss per item.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "dyadic/amp.h"
#include "dyadic/study_result.h"
#include "study/judged.h"

namespace dyadic::inline v1::study {

// Modules as they were afterwards, each for itself: some are in evaluation while others are trained.
class InEvaluation {
  std::vector<std::pair<nn::Module*, bool>> before_;

 public:
  explicit InEvaluation(nn::Module& model);
  ~InEvaluation();
  InEvaluation(const InEvaluation&) = delete;
};

struct Evaluation {
  std::vector<float> losses;   // one per item, in the batches' order
  std::vector<double> values;  // of the metric, where there is one
  double seconds = 0;          // of model and loss alone
  double mean() const;
};
// Batches are `size` times those of training; `compute`: autocast's type, none for the model's own. `each` (optional) sees the
// logits of every batch, f32 [items, classes], undefined where the subject has none. Modules are in evaluation meanwhile. Stops
// early, with what it has, when Ctrl-C was pressed.
using EachBatch = std::function<void(const data::Value& batch, const Tensor& logits)>;
Evaluation evaluate(Judged& subject, nn::Module& model, int64_t size = 1, DType compute = {}, const EachBatch& each = {});

// The mean of the values, or its root; and beside f32's, one evaluation of each per seed: what is lost. NaN without values.
double metric_of(const std::vector<double>& values, const Measure& measure);
LossDelta compare_metric(std::span<const Evaluation> f32, std::span<const Evaluation> other, const Measure& measure,
                         int64_t window);

// What is judged, of one evaluation beside another: the loss, or the metric where there is one.
LossDelta judge(Judged& subject, const Measure& measure, const Evaluation& from, const Evaluation& to);
double judged_mean(const Measure& measure, const Evaluation& e);

// What formats are compared with: the f32 model, its losses, and its logits for each batch where all of them take at most 256
// MiB (else every format computes them again).
struct Reference {
  Judged& subject;
  nn::Module& model;
  int64_t size;
  Measure measure;
  Evaluation evaluation;
  std::vector<Tensor> logits;
};
Reference evaluate_reference(Judged& subject, nn::Module& f32_model, int64_t size, const Measure& measure);

// Beside f32: loss, divergence, agreement, speed. The model computes in f32 and reads its weights from the format.
FormatResult evaluate_format(const Reference& reference, DType format);
// The same of another model, whose weights are stored in scaled formats already.
FormatResult evaluate_stored(const Reference& reference, nn::Module& model, const std::string& name);

}  // namespace dyadic::inline v1::study
