// Reading config.json: keys by type, errors by name, and the two dialects of rotary positions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "dyadic/dtype.h"

namespace dyadic::inline v1::models {

using json = nlohmann::json;

class Config {
  json all_, text_;  // the whole, and the part that describes the text tower

 public:
  // most: tensors in the file of weights. A configuration that asks for more modules than that is refused before any is made.
  explicit Config(const std::string& text, uint64_t most = 1 << 20);
  // ValueError unless layers x each are no more than that.
  void check_modules(int64_t layers, int64_t each, const char* what) const;
  const json& whole() const { return all_; }
  const std::string& model_type() const { return type_; }

  bool has(const char* key) const { return text_.contains(key) && !text_[key].is_null(); }
  const json& at(const char* key) const { return text_[key]; }
  int64_t integer(const char* key, std::optional<int64_t> otherwise = {}) const;  // in 0 ... 2^40
  int64_t size(const char* key, std::optional<int64_t> otherwise = {}) const;  // in 1 ... 2^30: products of two stay in range
  double real(const char* key, std::optional<double> otherwise = {}) const;
  bool flag(const char* key, bool otherwise) const;
  std::string word(const char* key, const std::string& otherwise) const;
  std::vector<int64_t> integers(const char* key) const;  // a list or one; empty without
  DType half() const;                                    // bf16 or f16, where it says that the weights are; else none
  // What a key that is missing stands for: files of some families leave out what is usual there.
  Config& usually(const char* key, const json& value) {
    if (!has(key)) text_[key] = value;
    return *this;
  }
  // "layer_types" with one entry for each layer, full_attention or `other`; or empty.
  std::vector<std::string> layer_types(int64_t layers, const char* other = "sliding_attention") const;
  // Where rotary positions stand in either dialect, of a type of layer where there are several: an object with rope_type and
  // rope_theta. theta_key: what old files call that type's base.
  json rope(const char* layer_type = "full_attention", const char* theta_key = "rope_theta", double theta = 10000) const;

 private:
  std::string type_;
  uint64_t most_;
};

// Of an object in the configuration, or of generation_config.json.
std::vector<int64_t> integers_of(const json& o, const char* key);
double real_of(const json& o, const char* key, std::optional<double> otherwise = {});

}  // namespace dyadic::inline v1::models
