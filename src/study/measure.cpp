#include "study/measure.h"

#include <cmath>

#include "study/numbers.h"

namespace dyadic::inline v1::study {

double f32_value(const StudyResult& s) {
  if (const RecipeResult* r = s.recipe("f32")) return judged_value(s, *r);
  if (const FormatResult* f = s.format("f32")) return judged_value(s, *f);
  return kUnknown;
}
double allowed(const StudyResult& s) { return s.options.tolerance * std::fabs(f32_value(s)); }
std::string judged_name(const StudyResult& s) { return s.measure.metric.empty() ? "loss" : s.measure.metric; }
std::string full_name(const StudyResult& s) { return s.measure.metric.empty() ? "validation loss" : s.measure.metric; }
std::string loss_unit(const StudyResult& s) { return s.measure.unit.empty() ? "" : " " + s.measure.unit; }
std::string unit_text(const StudyResult& s) { return s.measure.metric.empty() ? loss_unit(s) : ""; }
std::string change_text(const StudyResult& s, double lost) {
  return delta_text(!s.measure.metric.empty() && s.measure.larger ? -lost : lost);
}
std::string rate_text(const StudyResult& s, double items_per_s) {
  return quantity_text(items_per_s) + " " + s.measure.item + "s/s";
}

}  // namespace dyadic::inline v1::study
