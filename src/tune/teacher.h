// What a teacher says of the tokens that a batch learns: asked now, or read from a file.
#pragma once
#include "dyadic/distill.h"
#include "tune/rows.h"

namespace dyadic::inline v1::tune {

// Tokens in the order of a batch's labels, row after row.
struct Said {
  Tensor logits;   // f32 [learned, k]
  Tensor classes;  // i64 [learned, k], which they are of; undefined: k is the vocabulary
};

Tensor learned_places(const data::Value& batch);                  // i64 [learned], in the batch's tokens one after another
Tensor learned_of(const Tensor& by_token, const Tensor& places);  // [B, T, ...] -> [learned, ...]

// Of the rows of a dataset, by their numbers.
class LogitCache {
  Tensor logits_, classes_, begins_;

 public:
  static void write(const std::string& path, models::CausalLM& teacher, const RowDataset& rows, int64_t top_k);
  LogitCache(const std::string& path, const RowDataset& rows);  // ValueError where it is of others
  Said said(const data::Value& batch) const;
};

}  // namespace dyadic::inline v1::tune
