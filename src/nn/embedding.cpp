#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, Options options, std::optional<int64_t> padding,
                     bool by_freq)
    : num_embeddings(num_embeddings), embedding_dim(embedding_dim), padding_idx(padding), scale_grad_by_freq(by_freq) {
  if (padding) {
    DY_CHECK_AS(ValueError, *padding >= -num_embeddings && *padding < num_embeddings,
                "Embedding: padding_idx is no row: it is {} of {} rows", *padding, num_embeddings);
    if (*padding < 0) padding_idx = *padding + num_embeddings;
  }
  weight = make_parameter({num_embeddings, embedding_dim}, options);
  init::normal_(weight);
  if (padding_idx && !weight.is_meta()) init::constant_(weight.detach()[*padding_idx], 0);
  add_parameter("weight", weight);
}
Tensor Embedding::forward(const Tensor& indices) {
  return embedding(weight, indices, padding_idx.value_or(-1), scale_grad_by_freq);
}
std::string Embedding::extra_repr() const {
  return fmt::format("{}, {}{}{}", num_embeddings, embedding_dim,
                     padding_idx ? fmt::format(", padding_idx={}", *padding_idx) : "",
                     scale_grad_by_freq ? ", scale_grad_by_freq=True" : "");
}

}  // namespace dyadic::inline v1::nn
