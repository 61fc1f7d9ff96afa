// Validation: the whole validation text in non-overlapping windows, one loss per token.
#pragma once
#include <functional>
#include <vector>

#include "dyadic/amp.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {

struct Evaluation {
  std::vector<float> losses;  // nats, one per target, in the text's order
  double seconds = 0;         // of the model alone
  double mean() const;
};
// Windows are taken `batch` at a time; `compute`: autocast's type, none for the model's own. `each` (optional) sees the logits
// of every batch, f32 [rows, vocab], and the position of its first target. Stops early, with what it has, when Ctrl-C was
// pressed.
Evaluation evaluate(models::Gpt& model, const Corpus& corpus, int64_t batch, DType compute = {},
                    const std::function<void(const Tensor& logits, int64_t first)>& each = {});

// The f32 model's 2-D weights stored in `format`: a model that computes in f32 and reads them from there.
struct StoredModel {
  std::unique_ptr<models::Gpt> model;
  double bits_per_weight = 0;  // over the stored tensors, scales counted
  int64_t bytes = 0;           // of the whole model, tied weights once
};
StoredModel store_weights(const models::Gpt& f32_model, DType format);

// What formats are compared with: the f32 model, its losses, and its logits for each batch where all of them take at most 256
// MiB (else every format computes them again).
struct Reference {
  models::Gpt& model;
  Evaluation evaluation;
  std::vector<Tensor> logits;
};
Reference evaluate_reference(models::Gpt& f32_model, const Corpus& corpus, int64_t batch);

// Beside f32: loss, divergence, agreement, speed.
FormatResult evaluate_format(const Reference& reference, DType format, const Corpus& corpus, int64_t batch);

}  // namespace dyadic::inline v1::study
