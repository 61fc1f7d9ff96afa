// Rotary positions (Su et al. 2021) and the ways of stretching them over longer texts.
#pragma once
#include <vector>

#include "dyadic/ops.h"
#include "models/config.h"

namespace dyadic::inline v1::models {

class Rope {
 public:
  // Of an object that Config::rope gives. longest: max_position_embeddings.
  Rope(const json& parameters, int64_t head_dim, int64_t longest);
  // Angles per position, one for each pair, in a text of `length` tokens.
  std::vector<float> speeds(int64_t length) const;
  // Whether speeds depend on the length: then keys are kept as they are before turning.
  bool changes() const { return type_ == "dynamic" || long_ != short_; }
  // Longer texts than this have other speeds than shorter ones, from their first token on; 0: there is no such length.
  int64_t turning_point() const { return long_ != short_ ? int64_t(original_) : 0; }
  double factor() const { return amplitude_; }  // of cosines and sines

 private:
  std::vector<double> plain(double base) const;
  std::vector<float> llama3() const;
  std::vector<float> yarn() const;
  json p_;
  std::string type_;
  double base_, amplitude_ = 1;
  int64_t pairs_, longest_;
  int64_t turning_ = 0;  // of "proportional": so many pairs, the others stand
  double original_ = 0;  // positions in training, before stretching
  std::vector<double> long_, short_;
};

}  // namespace dyadic::inline v1::models
