// A model whose weights are stored in a format: while it lives, the parameters that the format is for are read from there.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "dyadic/nn.h"

namespace dyadic::inline v1::study {

// What a format stores of a model: of a scaled one nn::quantizable(), of a float all of two dimensions and more. Tied ones
// once.
nn::NamedTensors stored_in(const nn::Module& model, DType format);

// Formats by name, f32 first. None asked for: the floats of at most 32 bits that have negative numbers, and every scaled one
// that weights of this model (every: all of its matrices) can be encoded in, but the optimizer states' codebooks. What was
// asked for is a ValueError if they cannot.
std::vector<std::string> weight_formats(const nn::Module& model, const std::vector<std::string>& asked, bool every = false);

// Scaled and packed formats are decoded where they are read. Not every op takes a weight of f16 beside f32: unless `direct`,
// the values of such plain floats are held in f32, and counted as what they are.
class StoredWeights {
  struct Weight {
    Tensor place, plain, stored;  // the parameter itself; its values as they were, and as the format has them
    bool trained;
  };
  std::vector<Weight> weights_;
  int64_t bytes_ = 0, elements_ = 0, held_ = 0;  // in the format; in memory

 public:
  StoredWeights(const nn::NamedTensors& weights, DType format, bool direct);
  ~StoredWeights() { put(&Weight::plain); }
  StoredWeights(const StoredWeights&) = delete;
  double bits_per_weight() const;                     // over the stored tensors, scales counted; NaN without any
  int64_t surplus() const { return held_ - bytes_; }  // held above what the format takes
  void out() { put(&Weight::plain); }                 // for a while the model is what it was
  void in() { put(&Weight::stored); }

 private:
  void put(Tensor Weight::* which);
};

}  // namespace dyadic::inline v1::study
