// What the records of the normalizations share: their further results.
#pragma once
#include "ops/expected.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops {

// The input is rows of n elements.
inline void check_rows(const Call& c, const Tensor& input, int64_t n) {
  DY_CHECK(n >= 0 && (n == 0 || input.numel() % n == 0), "{}: the rows do not fill the input: input is {}, rows of {}", c.name,
           describe(input), n);
}
// Weight and bias are n numbers; the kernel decodes them to what it computes in, and nothing decodes from f64 or to it.
inline void check_parameters(const Call& c, int input, int64_t n, std::initializer_list<int> parameters) {
  const Tensor& x = c.tensor(input);
  for (int i : parameters) {
    if (!c.has(i)) continue;
    const Tensor& t = c.tensor(i);
    const char* name = i == *parameters.begin() ? "weight" : "bias";
    DY_CHECK(t.numel() == n, "{}: {} does not fit: it is {}, {} numbers are needed", c.name, name, describe(t), n);
    DY_CHECK_AS(TypeError, (plain(t) == f64) == (plain(x) == f64),
                "{}: dtypes differ: input is {}, {} is {}; convert one with .to", c.name, describe(x), name, describe(t));
  }
}
// Beside the result: mean and rstd of so many rows.
inline void add_statistics(Call& c, int64_t rows) {
  c.nout = 3;
  for (int i = 1; i < 3; ++i) {
    c.spec[i].dtype = c.spec[0].dtype == f64 ? f64 : f32;
    c.spec[i].device = c.spec[0].device;
    c.spec[i].shape({&rows, 1});
  }
}
// Of op(grad, input, weight?, mean, rstd, int, with_bias): gradients of the input and, as wanted, of weight [n] and bias [n].
// mean and rstd are those of `rows` rows.
inline void infer_gradients(Call& c, int64_t n, int64_t rows) {
  expect_operand(c, 0, "grad", c[native_layer_norm_backward_op::arg::input].sizes());
  check_parameters(c, 1, n, {2});
  for (int i : {3, 4})
    expect_operand(c, i, i == 3 ? "mean" : "rstd", {rows},
                   plain(c[native_layer_norm_backward_op::arg::input]) == f64 ? f64 : f32);
  infer_like_first(c);
  c.spec[0].dtype = plain(c[native_layer_norm_backward_op::arg::input]);
  c.nout = 3;
  for (int i = 1; i < 3; ++i) {
    const bool wanted =
        i == 1 ? c.has(native_layer_norm_backward_op::arg::weight) : c[native_layer_norm_backward_op::arg::with_bias];
    c.spec[i].dtype = !wanted                                             ? DType()
                      : c.has(native_layer_norm_backward_op::arg::weight) ? plain(c[native_layer_norm_backward_op::arg::weight])
                                                                          : c.spec[0].dtype;
    c.spec[i].device = c.spec[0].device;
    c.spec[i].shape({&n, 1});
  }
}

}  // namespace dyadic::inline v1::ops
