// What the methods' files share.
#pragma once
#include <optional>

#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

std::string refuses_unencodable(DType format);  // anything with scales that can be encoded is served
std::string refuses_without_codes(DType format);
Tensor to_nearest(const Tensor& weight, DType format);  // rounding to nearest
// Rounding to nearest and its reason, where fewer than 16 rows of inputs say nothing of a layer.
std::optional<Result> without_rows(const Task& t, const char* method);
// f32 [in]: how much a column's errors count, by its inputs' mean square. A column whose input is always zero in the data may
// be used all the same: it counts as the others do on average.
Tensor importance_of(const Inputs& inputs);
// Under scales that are searched for the least squared error, the columns' counted by `importance`, f32 [in] (imatrix.cpp).
// Where groups are not independent, rounding to nearest.
Tensor with_searched_scales(const Tensor& weight, const Tensor& importance, DType format);
// f32 [in, in]: the sum of x x^T damped by this share of its mean square, or by more where that gives no Cholesky factor, and
// the upper triangular U with its inverse = U^T U; undefined where no damping serves. gptq.cpp.
struct Damped {
  Tensor products, inverse_factor;
};
Damped damped(const Tensor& products, double damping);
inline Tensor inverse_factor(const Tensor& products, double damping) { return damped(products, damping).inverse_factor; }
inline double number(const Task& t, std::string_view name) { return t.options.number(name); }

}  // namespace dyadic::inline v1::quant
