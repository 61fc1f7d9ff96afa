// Scales searched for the least squared error, each column's counted by the mean square of its inputs: what llama.cpp's
// importance matrix does for GGUF's formats, for all of them. A group's scales are those that the encoder makes of the group
// times a factor; the codes are then those nearest to the group as it is. After a grid of factors the best one is refined by
// the least-squares factor of its codes.
#include "dyadic/ops.h"
#include "quant/codes.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr double kFirst = 0.7, kLast = 1.15, kStep = 0.05;
constexpr int kRefinements = 3;

class Search {
  const Tensor w_, importance_;  // f32 [rows, runs, width], [runs, width]
  const DType format_;
  Tensor best_, factor_, error_;

  Tensor in_runs(const Tensor& t) const { return t.view(w_.sizes()); }
  Tensor flat(const Tensor& t) const { return t.view({w_.size(0), -1}); }
  Tensor error_of(const Tensor& q) const {
    const Tensor e = in_runs(q.to(f32)) - w_;
    return sum(e * e * importance_, {2});
  }

 public:
  Search(const Tensor& w, const Tensor& importance, DType format, int64_t width)
      : w_(w.view({w.size(0), -1, width})),
        importance_(importance.view({-1, width})),
        format_(format),
        best_(to_nearest(w, format)),
        factor_(ones({w_.size(0), w_.size(1)})),
        error_(error_of(best_)) {}
  // factor: f32 [rows, runs].
  void attempt(const Tensor& factor) {
    const Tensor made = to_nearest(flat(w_ * unsqueeze(factor, 2)), format_);
    choose_codes(made, flat(w_));
    const Tensor error = error_of(made), better = lt(error, error_);
    best_ = merge_runs(best_, made, better);
    error_ = where(better, error, error_), factor_ = where(better, factor, factor_);
  }
  void refine() {
    const Tensor q = in_runs(best_.to(f32)), power = sum(q * q * importance_, {2});
    const Tensor fit = sum(q * w_ * importance_, {2}) / where(gt(power, 0), power, ones_like(power));
    attempt(factor_ * where(gt(fit, 0), fit, ones_like(fit)));
  }
  Tensor ones_like_factor() const { return ones_like(factor_); }
  const Tensor& best() const { return best_; }
};

Result run_imatrix(const Task& t) {
  const int64_t cols = t.weight.size(1);
  if (own_columns(t.format, t.weight.size(0), cols) == 0)
    return {to_nearest(t.weight, t.format), "groups of " + t.format.name() + " are not independent here"};
  return {with_searched_scales(t.weight, t.inputs ? importance_of(*t.inputs) : ones({cols}, f32), t.format), ""};
}

}  // namespace

Tensor importance_of(const Inputs& inputs) {
  const Tensor squares = diagonal(inputs.products()) / double(inputs.rows());
  return where(gt(squares, 0), squares, mean(squares));
}

Tensor with_searched_scales(const Tensor& weight, const Tensor& importance, DType format) {
  const int64_t width = own_columns(format, weight.size(0), weight.size(1));
  if (width == 0) return to_nearest(weight, format);
  Search search(weight, importance, format, width);
  for (double f = kFirst; f <= kLast; f += kStep) search.attempt(search.ones_like_factor() * f);
  for (int i = 0; i < kRefinements; ++i) search.refine();
  return search.best();
}

extern const Method imatrix_method;
const Method imatrix_method = {
    .sig = "imatrix()",
    .doc =
        "Searches each group's scales for the least squared error, each column's counted by the mean square of its inputs (by "
        "one "
        "where there is no calibration data).",
    .source = "llama.cpp's importance matrix, https://github.com/ggml-org/llama.cpp/pull/4861",
    .refuses = refuses_without_codes,
    .run = run_imatrix,
};

}  // namespace dyadic::inline v1::quant
