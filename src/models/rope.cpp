#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dyadic::inline v1::models {
namespace {

double amplitude(double stretch, double weight = 1) { return stretch <= 1 ? 1 : 0.1 * weight * std::log(stretch) + 1; }

std::vector<double> factors(const json& p, const char* key, int64_t pairs) {
  const bool fits = p.contains(key) && p[key].is_array() && int64_t(p[key].size()) == pairs;
  DY_CHECK_AS(ValueError, fits, "config.json: {}: expected {} numbers, one for each pair that is turned", key, pairs);
  std::vector<double> all;
  for (const json& v : p[key]) {
    DY_CHECK_AS(ValueError, v.is_number() && v.get<double>() > 0, "config.json: {}: its numbers are to be above 0", key);
    all.push_back(v.get<double>());
  }
  return all;
}

}  // namespace

Rope::Rope(const json& parameters, int64_t head_dim, int64_t longest)
    : p_(parameters), type_(parameters["rope_type"].get<std::string>()), base_(real_of(p_, "rope_theta")), longest_(longest) {
  const double share = real_of(p_, "partial_rotary_factor", 1);
  DY_CHECK_AS(ValueError, share > 0 && share <= 1, "config.json: partial_rotary_factor is {}, not in (0, 1]", share);
  const auto turned = int64_t(double(head_dim) * share);
  pairs_ = turned / 2;
  DY_CHECK_AS(ValueError, turned >= 2 && turned % 2 == 0,
              "config.json: rotary positions need pairs: {} of {} values are turned", turned, head_dim);
  if (type_ == "proportional") turning_ = pairs_, pairs_ = head_dim / 2;  // a part of all pairs, at the speeds of all
  DY_CHECK_AS(ValueError, base_ > 0, "config.json: rope_theta is {}, not above 0", base_);
  if (type_ == "mrope") type_ = "default";
  static constexpr std::string_view kTypes[] = {"default", "linear", "proportional", "dynamic", "llama3", "yarn", "longrope"};
  DY_CHECK_AS(ValueError, std::ranges::find(kTypes, type_) != std::end(kTypes), "config.json: rope_type \"{}\" is none of {}",
              type_, fmt::join(kTypes, ", "));
  if (type_ == "default") return;
  if (type_ == "proportional" && !p_.contains("factor")) p_["factor"] = 1;
  original_ = real_of(p_, "original_max_position_embeddings", double(longest));
  DY_CHECK_AS(ValueError, original_ >= 1, "config.json: original_max_position_embeddings is {}, not above 0", original_);
  if (type_ == "longrope") long_ = factors(p_, "long_factor", pairs_), short_ = factors(p_, "short_factor", pairs_);
  if (type_ == "longrope" || type_ == "yarn")
    if (!p_.contains("factor") || p_["factor"].is_null()) p_["factor"] = double(longest) / original_;
  const double stretch = real_of(p_, "factor");
  DY_CHECK_AS(ValueError, stretch > 0, "config.json: factor is {}, not above 0", stretch);
  if (type_ == "yarn") {
    const double a = real_of(p_, "mscale", 0), b = real_of(p_, "mscale_all_dim", 0);
    amplitude_ = real_of(p_, "attention_factor", a && b ? amplitude(stretch, a) / amplitude(stretch, b) : amplitude(stretch));
  } else if (type_ == "longrope") {
    const double usual = stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(original_));
    amplitude_ = real_of(p_, "attention_factor", usual);
  }
}

std::vector<double> Rope::plain(double base) const {
  std::vector<double> s;
  for (int64_t i = 0; i < pairs_; ++i) s.push_back(1 / std::pow(base, double(i) / double(pairs_)));
  return s;
}

// Slow turns are stretched, fast ones stay, and between the two it is a mixture (Dubey et al. 2024).
std::vector<float> Rope::llama3() const {
  const double stretch = real_of(p_, "factor"), low = real_of(p_, "low_freq_factor"), high = real_of(p_, "high_freq_factor");
  DY_CHECK_AS(ValueError, high > low, "config.json: high_freq_factor {} is not above low_freq_factor {}", high, low);
  std::vector<float> all;
  for (double s : plain(base_)) {
    const double turns = original_ * s / (2 * std::numbers::pi);  // in a text as long as those of training
    const double mix = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    all.push_back(float((1 - mix) * s / stretch + mix * s));
  }
  return all;
}

// By the number of turns as well, with a ramp over the pairs' numbers (Peng et al. 2023).
std::vector<float> Rope::yarn() const {
  const double stretch = real_of(p_, "factor");
  const auto pair_of = [&](double turns) {
    return double(pairs_) * std::log(original_ / (turns * 2 * std::numbers::pi)) / std::log(base_);
  };
  double low = pair_of(real_of(p_, "beta_fast", 32)), high = pair_of(real_of(p_, "beta_slow", 1));
  if (!p_.contains("truncate") || p_["truncate"] != false) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, double(2 * pairs_ - 1));
  if (low == high) high += 0.001;
  std::vector<float> all;
  int64_t i = 0;
  for (double s : plain(base_)) {
    const double ramp = std::clamp((double(i++) - low) / (high - low), 0.0, 1.0);
    all.push_back(float(ramp * s / stretch + (1 - ramp) * s));
  }
  return all;
}

std::vector<float> Rope::speeds(int64_t length) const {
  if (type_ == "llama3") return llama3();
  if (type_ == "yarn") return yarn();
  double base = base_, divisor = 1;
  if (type_ == "linear" || type_ == "proportional") divisor = real_of(p_, "factor");
  if (type_ == "dynamic" && pairs_ > 1) {  // the base grows so that the slowest pair is stretched as much as the text is
    const double stretch = real_of(p_, "factor"), n = double(std::max(length, longest_));
    base *= std::pow(stretch * n / double(longest_) - (stretch - 1), double(pairs_) / double(pairs_ - 1));
  }
  std::vector<float> all;
  for (double s : plain(base)) all.push_back(float(s / divisor));
  if (type_ == "proportional") std::fill(all.begin() + turning_, all.end(), 0.0f);
  if (type_ == "longrope") {
    const auto& f = double(length) > original_ ? long_ : short_;
    for (size_t i = 0; i < all.size(); ++i) all[i] = float(double(all[i]) / f[i]);
  }
  return all;
}

}  // namespace dyadic::inline v1::models
