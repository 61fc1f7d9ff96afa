#include "base/check.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, Options options)
    : num_embeddings(num_embeddings), embedding_dim(embedding_dim) {
  weight = make_parameter({num_embeddings, embedding_dim}, options);
  init::normal_(weight);
  add_parameter("weight", weight);
}
Tensor Embedding::forward(const Tensor& indices) { return embedding(weight, indices); }
std::string Embedding::extra_repr() const { return fmt::format("{}, {}", num_embeddings, embedding_dim); }

}  // namespace dyadic::inline v1::nn
