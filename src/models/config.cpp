#include "models/config.h"

#include <cmath>

#include "base/json.h"

namespace dyadic::inline v1::models {
namespace {

[[noreturn]] void wrong(const char* key, const char* expected, const json& is) {
  std::string text = dump_json(is, -1, NotUtf8::replaced);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw ValueError(fmt::format("config.json: {}: expected {}, and it is {}", key, expected, text));
}
template <class T> T given(const char* key, const std::optional<T>& otherwise) {
  DY_CHECK_AS(ValueError, otherwise, "config.json: {} is missing", key);
  return *otherwise;
}

}  // namespace

Config::Config(const std::string& text, uint64_t most) : most_(most) {
  all_ = bounded_json(text);
  DY_CHECK_AS(ValueError, !all_.is_discarded(), "config.json: not JSON of the expected form");
  DY_CHECK_AS(ValueError, all_.is_object(), "config.json: not an object");
  text_ = all_;
  if (all_.contains("text_config") && all_["text_config"].is_object()) {
    text_ = all_["text_config"];
    for (const char* key : {"model_type", "tie_word_embeddings", "eos_token_id", "pad_token_id", "bos_token_id"})
      if (!text_.contains(key) && all_.contains(key)) text_[key] = all_[key];
  }
  type_ = word("model_type", "");
  DY_CHECK_AS(ValueError, !type_.empty(), "config.json: model_type is missing");
}

void Config::check_modules(int64_t layers, int64_t each, const char* what) const {
  DY_CHECK_AS(ValueError, uint64_t(layers) <= most_ && uint64_t(each) <= most_ && uint64_t(layers) * uint64_t(each) <= most_,
              "config.json: {} layers of {} {}, and there are {} tensors of weights", layers, each, what, most_);
}

int64_t Config::integer(const char* key, std::optional<int64_t> otherwise) const {
  if (!has(key)) return given(key, otherwise);
  const json& v = at(key);
  if (!v.is_number_integer() || v < 0 || v > (int64_t(1) << 40)) wrong(key, "a number of things", v);
  return v.get<int64_t>();
}
int64_t Config::size(const char* key, std::optional<int64_t> otherwise) const {
  const int64_t v = integer(key, otherwise);
  if (v < 1 || v > (int64_t(1) << 30)) wrong(key, "a size", v);
  return v;
}
double Config::real(const char* key, std::optional<double> otherwise) const { return real_of(text_, key, otherwise); }
bool Config::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_boolean()) wrong(key, "true or false", at(key));
  return at(key).get<bool>();
}
std::string Config::word(const char* key, const std::string& otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_string()) wrong(key, "a text", at(key));
  return at(key).get<std::string>();
}
DType Config::half() const {
  for (const json* part : {&text_, &all_})
    for (const char* key : {"dtype", "torch_dtype"})
      for (DType dtype : {bf16, f16})
        if (part->contains(key) && (*part)[key] == dtype.long_name()) return dtype;
  return {};
}
std::vector<int64_t> Config::integers(const char* key) const { return integers_of(text_, key); }
std::vector<std::string> Config::layer_types(int64_t layers, const char* other) const {
  if (!has("layer_types")) return {};
  const json& list = at("layer_types");
  if (!list.is_array() || int64_t(list.size()) != layers) wrong("layer_types", "one for each layer", list);
  std::vector<std::string> all;
  for (const json& v : list) {
    if (v != "full_attention" && v != other) wrong("layer_types", ("full_attention or " + std::string(other)).c_str(), v);
    all.push_back(v.get<std::string>());
  }
  return all;
}

json Config::rope(const char* layer_type, const char* theta_key, double theta) const {
  json r = json::object();
  if (has("rope_parameters")) {
    const json& all = at("rope_parameters");
    if (!all.is_object()) wrong("rope_parameters", "an object", all);
    const bool several = all.contains("full_attention") || all.contains("sliding_attention");
    if (several && all.contains(layer_type)) r = all[layer_type];
    if (!several) r = all;
  } else if (has("rope_scaling") && (std::string_view(layer_type) == "full_attention")) {
    r = at("rope_scaling");
  }
  if (!r.is_object()) wrong("rope_parameters", "an object", r);
  if (!r.contains("rope_type")) r["rope_type"] = r.contains("type") ? r["type"] : json("default");
  if (!r["rope_type"].is_string()) wrong("rope_type", "a text", r["rope_type"]);
  if (!r.contains("rope_theta")) r["rope_theta"] = real(theta_key, theta);
  if (!r.contains("partial_rotary_factor")) r["partial_rotary_factor"] = real("partial_rotary_factor", 1.0);
  if (!r.contains("original_max_position_embeddings") && has("original_max_position_embeddings"))
    r["original_max_position_embeddings"] = at("original_max_position_embeddings");
  return r;
}

std::vector<int64_t> integers_of(const json& o, const char* key) {
  if (!o.contains(key) || o[key].is_null()) return {};
  std::vector<int64_t> all;
  const json one = json::array({o[key]}), &list = o[key].is_array() ? o[key] : one;
  for (const json& v : list) {
    if (!v.is_number_integer() || v < 0 || v > (int64_t(1) << 40)) wrong(key, "whole numbers", o[key]);
    all.push_back(v.get<int64_t>());
  }
  return all;
}

double real_of(const json& o, const char* key, std::optional<double> otherwise) {
  if (!o.contains(key) || o[key].is_null()) return given(key, otherwise);
  if (!o[key].is_number() || !std::isfinite(o[key].get<double>())) wrong(key, "a number", o[key]);
  return o[key].get<double>();
}

}  // namespace dyadic::inline v1::models
