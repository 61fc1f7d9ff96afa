// JSON of states. It has no infinity and no NaN: {"$float": "inf"}, as python/dyadic/train writes them too.
#pragma once
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "dyadic/train.h"

namespace dyadic::inline v1::train {

using Json = nlohmann::json;

inline Json number_json(double v) {
  if (std::isfinite(v)) return v;
  return {{"$float", v != v ? "nan" : v > 0 ? "inf" : "-inf"}};
}
inline double number_of(const Json& j) {
  if (!j.is_object()) return j.get<double>();
  const std::string word = j.at("$float").get<std::string>();
  const double inf = std::numeric_limits<double>::infinity();
  return word == "inf" ? inf : word == "-inf" ? -inf : std::numeric_limits<double>::quiet_NaN();
}
inline Json numbers_json(const std::vector<double>& values) {
  Json j = Json::array();
  for (double v : values) j.push_back(number_json(v));
  return j;
}
inline std::vector<double> numbers_of(const Json& j) {
  std::vector<double> values;
  for (const Json& v : j) values.push_back(number_of(v));
  return values;
}
inline Json metrics_json(const Metrics& metrics) {
  Json j = Json::object();
  for (auto& [name, value] : metrics) j[name] = number_json(value);
  return j;
}
inline Metrics metrics_of(const Json& j) {
  Metrics metrics;
  for (auto& [name, value] : j.items()) metrics[name] = number_of(value);
  return metrics;
}

}  // namespace dyadic::inline v1::train
