// Dimensions by name: rearrange(x, "b t (h d) -> b h t d", {{"h", 8}}).
//
// A pattern is "left -> right". Each side lists the dimensions: a name, 1, "..." for any number of them, or a composition in
// parentheses, which is one dimension of the tensor made of several, the last varying fastest. Patterns are parsed once and
// kept. Sizes that the shape does not tell are given. Every mistake is an Error that shows the pattern and the shape.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// Borrowed for the call, from braces or a vector.
class AxisSizes {
  using Pair = std::pair<std::string_view, int64_t>;
  const Pair* p_ = nullptr;
  size_t n_ = 0;

 public:
  AxisSizes() = default;
  AxisSizes(std::initializer_list<Pair> l) : n_(l.size()) { p_ = l.begin(); }  // the braces live as long as the call
  AxisSizes(const std::vector<Pair>& v) : p_(v.data()), n_(v.size()) {}
  const Pair* begin() const { return p_; }
  const Pair* end() const { return p_ + n_; }
};

// The same elements, dimensions split, merged and permuted: both sides name the same.
Tensor rearrange(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});
// Names that are on the left only are reduced by "sum", "mean", "min", "max", "prod", "any" or "all".
Tensor reduce(const Tensor& x, std::string_view pattern, std::string_view operation, AxisSizes sizes = {});
// Names (with given sizes) and numbers that are on the right only repeat the elements.
Tensor repeat(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});
// The sizes by name: parse_shape(x, "b _ h w"); "_" is not wanted.
std::map<std::string, int64_t> parse_shape(const Tensor& x, std::string_view pattern);
// Several tensors as one: the dimensions under "*" of each become one dimension, and these are joined. unpack takes them apart
// by the shapes that pack gives.
struct Packed {
  Tensor tensor;
  std::vector<std::vector<int64_t>> shapes;
};
Packed pack(TensorList tensors, std::string_view pattern);
std::vector<Tensor> unpack(const Tensor& x, const std::vector<std::vector<int64_t>>& shapes, std::string_view pattern);
// einsum with words for letters: einsum_named({q, k}, "batch i head, batch j head -> batch i j").
Tensor einsum_named(TensorList operands, std::string_view pattern);

}  // namespace dyadic::inline v1
