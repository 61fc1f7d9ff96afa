#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options)
    : num_embeddings(num_embeddings),
      embedding_dim(embedding_dim),
      padding_idx(options.padding_idx),
      scale_grad_by_freq(options.scale_grad_by_freq),
      max_norm(options.max_norm),
      norm_type(options.norm_type) {
  if (padding_idx) {
    DY_CHECK_AS(ValueError, *padding_idx >= -num_embeddings && *padding_idx < num_embeddings,
                "Embedding: padding_idx is no row: it is {} of {} rows", *padding_idx, num_embeddings);
    if (*padding_idx < 0) *padding_idx += num_embeddings;
  }
  weight = make_parameter({num_embeddings, embedding_dim}, {options.dtype, options.device});
  init::normal_(weight);
  if (padding_idx && !weight.is_meta()) init::constant_(weight.detach()[*padding_idx], 0);
  add_parameter("weight", weight);
}
void embedding_renorm_(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  if (weight.is_meta()) return;
  NoGrad guard;
  Tensor rows = unique(indices.reshape({-1}))[0];
  rows = masked_select(rows, logical_and(ge(rows, 0), lt(rows, weight.size(0))));
  const Tensor table = weight.detach();
  call_inplace(Op::index_copy_, table, int64_t(0), rows, renorm(index_select(table, 0, rows), norm_type, 0, max_norm));
}
Tensor Embedding::forward(const Tensor& indices) {
  if (max_norm) embedding_renorm_(weight, indices, *max_norm, norm_type);
  return embedding(weight, indices, padding_idx.value_or(-1), scale_grad_by_freq);
}
std::string Embedding::extra_repr() const {
  return fmt::format("{}, {}{}{}", num_embeddings, embedding_dim,
                     padding_idx ? fmt::format(", padding_idx={}", *padding_idx) : "",
                     scale_grad_by_freq ? ", scale_grad_by_freq=True" : "");
}

}  // namespace dyadic::inline v1::nn
