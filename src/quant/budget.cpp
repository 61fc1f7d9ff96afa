// Mixed bits under a budget. Each weight is rounded to each format by itself, and what that does to the model's results is
// measured. With bytes and distance of every choice, the choices on the lower hull of each weight are steps with falling gain
// per byte; taking steps in the order of their gain is the minimum of distance + lambda * bytes for a falling lambda, and
// passes through every point of the whole model's curve.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/pattern.h"
#include "base/text.h"
#include "dyadic/autograd.h"
#include "nn/stored.h"
#include "quant/methods.h"
#include "quant/targets.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

struct Choice {
  DType format;  // undefined: as it is
  int64_t bytes;
  double distance;
};
struct Weight {
  std::string name;
  Tensor tensor;
  bool filters;
  std::vector<Choice> choices;  // on the hull: bytes rise, distances fall, ever more slowly
  size_t taken = 0;
};

// Leaves the choices on the lower hull of (bytes, distance).
void keep_hull(std::vector<Choice>& all) {
  std::sort(all.begin(), all.end(),
            [](auto& a, auto& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.distance < b.distance; });
  std::vector<Choice> hull;
  for (const Choice& c : all) {
    if (!hull.empty() && (c.distance >= hull.back().distance || c.bytes == hull.back().bytes)) continue;
    const auto slope = [](const Choice& a, const Choice& b) { return (a.distance - b.distance) / double(b.bytes - a.bytes); };
    while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), c)) hull.pop_back();
    hull.push_back(c);
  }
  all = std::move(hull);
}

class Budget {
  nn::Module& model_;
  const BudgetOptions& o_;
  std::vector<Weight> weights_;
  int64_t bytes_;  // of the model with the formats that are given
  Tensor before_;

 public:
  Budget(nn::Module& model, const BudgetOptions& o) : model_(model), o_(o) {
    DY_CHECK_AS(ValueError, !o.formats.empty(), "fit_budget: there are no formats to choose from");
    std::map<std::string, size_t> places;
    bytes_ = model.nbytes();
    for (DType f : o.formats)
      for (const Target& t : find_targets(model, {.weights = f, .map = o.map, .include = o.include, .exclude = o.exclude})) {
        const int64_t bytes = bytes_in(t.weight, t.format, t.filters);
        const auto [it, is_new] = places.try_emplace(t.name, weights_.size());
        if (is_given(t.name)) {
          if (is_new) bytes_ += bytes - t.weight.nbytes();
          continue;
        }
        if (is_new) weights_.push_back({t.name, t.weight, t.filters, {{{}, t.weight.nbytes(), 0}}});
        weights_[it->second].choices.push_back({f, bytes, 0});
      }
  }

  BudgetPlan run() {
    const NoGrad guard;
    if (o_.calibration) before_ = o_.calibration->sample(model_);
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (o_.progress) o_.progress(o_.context, i, weights_.size(), weights_[i].name);
      measure(weights_[i]);
      keep_hull(weights_[i].choices);
    }
    return fill();
  }

 private:
  bool is_given(const std::string& name) const {
    return std::any_of(o_.map.begin(), o_.map.end(), [&](auto& rule) { return matches(rule.first, name); });
  }
  void measure(Weight& w) {
    const Tensor whole = w.tensor.detach().clone();
    const double squares = sum(square(whole.to(f32))).item();
    for (Choice& c : w.choices) {
      if (!c.format) continue;
      const Tensor rounded = nn::in_format(whole.to(f32), c.format, w.filters);
      if (o_.calibration) {
        w.tensor.detach().copy_(rounded.to(f32));
        c.distance = o_.calibration->distance(before_, o_.calibration->sample(model_));
      } else {
        c.distance = squares > 0 ? sum(square(rounded.to(f32) - whole.to(f32))).item() / squares * double(whole.numel()) : 0;
      }
      if (!std::isfinite(c.distance)) c.distance = INFINITY;
      c.distance = std::max(c.distance, 0.0);
    }
    if (o_.calibration) w.tensor.detach().copy_(whole);
  }

  BudgetPlan fill() {
    int64_t bytes = bytes_;
    double distance = 0;
    struct Step {
      size_t weight, to;
      double gain;
    };
    std::vector<Step> steps;
    for (size_t i = 0; i < weights_.size(); ++i) {
      Weight& w = weights_[i];
      const auto& c = w.choices;
      bytes += c[0].bytes - w.tensor.nbytes(), distance += c[0].distance;
      for (size_t k = 1; k < c.size(); ++k)
        steps.push_back({i, k, (c[k - 1].distance - c[k].distance) / double(c[k].bytes - c[k - 1].bytes)});
    }
    DY_CHECK_AS(ValueError, bytes <= o_.bytes,
                "fit_budget: {} are too few: with the smallest of the formats given the model takes {}; give more, or smaller "
                "formats",
                human_bytes(o_.bytes), human_bytes(bytes));
    std::stable_sort(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.gain > b.gain; });
    BudgetPlan plan{.map = o_.map};
    plan.curve.push_back({bytes, distance});
    for (const Step& s : steps) {
      Weight& w = weights_[s.weight];
      const Choice &from = w.choices[w.taken], &to = w.choices[s.to];
      if (bytes + to.bytes - from.bytes > o_.bytes) continue;  // a later one, of a smaller weight, may still fit
      bytes += to.bytes - from.bytes, distance += to.distance - from.distance;
      w.taken = s.to;
      plan.curve.push_back({bytes, distance});
    }
    for (const Weight& w : weights_) plan.map.emplace_back(w.name, w.choices[w.taken].format);
    return plan;
  }
};

}  // namespace

BudgetPlan fit_budget(nn::Module& model, const BudgetOptions& options) { return Budget(model, options).run(); }

}  // namespace dyadic::inline v1::quant
