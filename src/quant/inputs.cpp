// What is kept of a matrix's inputs, and the errors that follow from it.
#include <cmath>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/quant.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {

void Inputs::add(const Tensor& given) {
  const NoGrad guard;
  DY_CHECK_AS(ValueError, given.dim() >= 1 && given.size(-1) > 0, "Inputs: rows have no elements: x is {}", describe(given));
  const Tensor x = given.detach().reshape({-1, given.size(-1)}).to(f32);
  if (x.size(0) == 0) return;
  DY_CHECK_AS(ValueError, rows_ == 0 || x.size(1) == products_.size(0),
              "Inputs: rows have another width than those before: x is {}, those have {}", describe(given), products_.size(0));
  const Tensor size = abs(x), largest = amax(size, {0});
  DY_CHECK_AS(ValueError, all(isfinite(largest)).item<bool>(), "Inputs: NaN or infinities are among the inputs: x is {}",
              describe(given));
  const Tensor products = matmul(x.t(), x), magnitudes = sum(size, {0});
  if (rows_ == 0) {
    products_ = products, magnitudes_ = magnitudes, largest_ = largest;
  } else {
    products_.add_(products), magnitudes_.add_(magnitudes);
    largest_ = maximum(largest_, largest);
  }
  rows_ += x.size(0);
}
Inputs Inputs::of_squares(const Tensor& squares, int64_t rows) {
  Inputs i;
  i.rows_ = rows;
  i.products_ = diag(squares), i.largest_ = sqrt(squares), i.magnitudes_ = sqrt(squares / double(rows)) * double(rows);
  return i;
}
Tensor Inputs::mean_magnitude() const { return magnitudes_ / double(rows_); }
Inputs Inputs::divided_by(const Tensor& scale) const {
  Inputs i;
  i.rows_ = rows_;
  i.products_ = products_ / scale / unsqueeze(scale, 1);
  i.magnitudes_ = magnitudes_ / scale, i.largest_ = largest_ / scale;
  return i;
}

namespace {
// The sum of (w x)^2 over all rows x of the inputs and rows w of the matrix.
double power(const Tensor& w, const Inputs* inputs) {
  const Tensor y = inputs ? matmul(w, inputs->products()) * w : w * w;
  return sum(y.to(f64)).item();
}
}  // namespace

double output_error(const Tensor& weight, const Tensor& quantized, const Inputs* inputs) {
  const NoGrad guard;
  const Tensor w = weight.detach().to(f32), e = quantized.detach().to(f32) - w;
  const double whole = power(w, inputs), lost = std::max(power(e, inputs), 0.0);
  return whole > 0 ? std::sqrt(lost / whole) : lost > 0 ? INFINITY : 0;
}

}  // namespace dyadic::inline v1::quant
