// What a study judges by: the loss, or a metric of its own. Reports and the recommendation say it in the same words.
#pragma once
#include <string>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

template <class R> const LossDelta& judged(const StudyResult& s, const R& r) {
  return s.measure.metric.empty() ? r.vs_f32 : r.metric_vs_f32;
}
template <class R> double judged_value(const StudyResult& s, const R& r) {
  return s.measure.metric.empty() ? r.val_loss : r.metric;
}
inline bool compares_logits(const StudyResult& s) {  // KL and agreement are known, or will be
  for (const FormatResult& f : s.formats)
    if (f.kl == f.kl) return true;
  return s.model.kind.empty();
}
inline bool is_text(const StudyResult& s) { return s.model.kind.empty(); }  // the built-in model, and its words

double f32_value(const StudyResult& s);                      // what all are compared with; NaN: not known
double allowed(const StudyResult& s);                        // what may be lost of it
std::string judged_name(const StudyResult& s);               // "loss", "accuracy"
std::string full_name(const StudyResult& s);                 // "validation loss", "accuracy"
std::string unit_text(const StudyResult& s);                 // " nats", or nothing
std::string loss_unit(const StudyResult& s);                 // the loss's, whatever is judged
std::string change_text(const StudyResult& s, double lost);  // signed, as the figure changes: a lost accuracy is below zero
std::string rate_text(const StudyResult& s, double items_per_s);  // "131 k tokens/s"

}  // namespace dyadic::inline v1::study
