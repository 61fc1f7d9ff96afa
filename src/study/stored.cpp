#include "study/stored.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/finfo.h"
#include "dyadic/ops.h"
#include "dyadic/study_result.h"
#include "formats/format.h"
#include "offload/pages.h"
#include "offload/spill.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::study {

nn::NamedTensors stored_in(const nn::Module& model, DType format) {
  if (format.is_scaled()) return nn::quantizable(model, format);
  nn::NamedTensors all;
  for (auto& [name, t] : model.named_parameters())
    if (t.dim() >= 2 && t.dtype().is_floating_point()) all.emplace_back(name, t);
  return all;
}

namespace {

bool rows_fit(const nn::Module& model, DType d, bool every) {
  for (auto& [name, t] : model.named_parameters())
    if (every && t.dim() >= 2 && t.size(-1) % d.format()->row_step()) return false;
  return !nn::quantizable(model, d).empty();
}

void add(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void check_stores(const nn::Module& model, const std::string& text, bool every) {
  DType d = DType::parse(text);
  DY_CHECK_AS(ValueError, d.is_scaled() || (d.is_floating_point() && d.bits() <= 32),
              "unknown weight format \"{}\": weights are stored in floats of at most 32 bits or scaled formats; dyadic "
              "formats lists them",
              text);
  check_encodes(*d.format());
  for (auto& [name, t] : model.named_parameters())
    if (every && t.dim() >= 2 && d.is_scaled()) d.format()->def->planes(*d.format(), {t.numel() / t.size(-1), t.size(-1)});
  DY_CHECK_AS(ValueError, !d.is_scaled() || !nn::quantizable(model, d).empty(),
              "{}: no weight of this model has rows of its blocks' {} elements; choose smaller blocks or a wider model",
              d.name(), d.format()->params.block);
}

}  // namespace

std::vector<std::string> weight_formats(const nn::Module& model, const std::vector<std::string>& asked, bool every) {
  std::vector<std::string> names{"f32"};
  if (asked.empty())
    for (DType d : registered_dtypes())
      if ((d.is_floating_point() && d.bits() < 32 && finfo(d).min < 0) ||
          (d.is_scaled() && d != dynamic8 && d != udynamic8 && d.format()->can_encode() && rows_fit(model, d, every)))
        add(names, d.name());
  for (const std::string& text : asked) {
    check_stores(model, text, every);
    add(names, DType::parse(text).name());
  }
  return names;
}

StoredWeights::StoredWeights(const nn::NamedTensors& weights, DType format, bool direct) {
  NoGrad guard;
  CategoryScope scope(Category::parameter);
  for (auto& [name, t] : weights) {
    const Tensor plain = t.detach();
    Tensor stored = plain.to(format);
    bytes_ += stored.nbytes(), elements_ += stored.numel();
    if (!direct && !format.is_scaled()) stored = stored.to(plain.dtype());
    if (offload::is_spilled(t)) {
      stored = offload::put_beside(t, stored);
      offload::Pages(plain).drop();
    }
    weights_.push_back({t, plain, stored, t.requires_grad()});
    held_ += weights_.back().stored.nbytes();
  }
  in();
}

double StoredWeights::bits_per_weight() const { return elements_ ? 8.0 * double(bytes_) / double(elements_) : kUnknown; }

void StoredWeights::put(Tensor Weight::* which) {
  NoGrad guard;
  for (Weight& w : weights_) {
    const bool plain = which == &Weight::plain;
    if (!plain) w.place.requires_grad_(false);  // scaled formats never do
    become_view(w.place, w.*which);
    if (plain) w.place.requires_grad_(w.trained);
  }
}

}  // namespace dyadic::inline v1::study
