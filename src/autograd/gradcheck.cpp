// gradcheck: the whole Jacobian that backward gives, one output element at a time, against central differences.
#include <cmath>
#include <functional>

#include "autograd/engine.h"
#include "base/check.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

using Checked = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Dense copies that nobody else sees: they are moved by eps, whatever the originals' strides are.
std::vector<Tensor> fresh_leaves(const std::vector<Tensor>& inputs) {
  NoGrad guard;
  std::vector<Tensor> leaves;
  for (const Tensor& t : inputs) {
    if (!t.defined() || !t.requires_grad()) {
      leaves.push_back(t);
      continue;
    }
    DY_CHECK_AS(TypeError, t.dtype() == f64, "gradcheck: differences need float64: input {} is {}; convert with .to(f64)",
                leaves.size(), describe(t));
    Tensor copy = make_tensor(t.sizes(), f64, cpu);
    copy.copy_(t.detach());
    leaves.push_back(copy.requires_grad_());
  }
  return leaves;
}

// Row-major values without history; f64 only.
std::vector<double> values_of(const Tensor& t) { return t.detach().to_vector(); }

struct Jacobian {  // of one output with respect to one input: [output element][input element]
  std::vector<double> d;
  int64_t columns = 0;
  double& at(int64_t row, int64_t column) { return d[size_t(row * columns + column)]; }
};

struct Check {
  const Checked& f;
  double eps, atol, rtol;
  std::vector<Tensor> leaves;
  std::vector<size_t> moved;    // inputs that require grad
  std::vector<size_t> outputs;  // of f, those that require grad
  std::vector<std::vector<Jacobian>> analytic, numeric;

  void differentiate() {
    std::vector<Tensor> results = f(leaves);
    std::vector<Tensor> wanted;
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].defined() && leaves[i].requires_grad()) moved.push_back(i), wanted.push_back(leaves[i]);
    DY_CHECK(!wanted.empty(), "gradcheck: nothing to differentiate: no input requires grad");
    for (size_t j = 0; j < results.size(); ++j) {
      if (!results[j].defined() || !results[j].requires_grad()) continue;
      DY_CHECK_AS(TypeError, results[j].dtype() == f64, "gradcheck: differences need float64: output {} is {}", j,
                  describe(results[j]));
      outputs.push_back(j);
      analytic.push_back(rows_of(results[j], wanted));
    }
    DY_CHECK(!outputs.empty(), "gradcheck: nothing to differentiate: no output requires grad");
  }

  std::vector<Jacobian> rows_of(const Tensor& result, const std::vector<Tensor>& wanted) const {
    std::vector<Jacobian> jacobians;
    for (const Tensor& x : wanted) jacobians.push_back({std::vector<double>(size_t(result.numel() * x.numel())), x.numel()});
    for (int64_t e = 0; e < result.numel(); ++e) {
      Tensor seed = zeros(result.sizes(), f64);
      seed.data<double>()[e] = 1;
      std::vector<Tensor> g = grad({&result, 1}, wanted, {&seed, 1}, true, false, true);
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (!g[i].defined()) continue;  // does not depend on it: zeros
        DY_CHECK(g[i].sizes() == wanted[i].sizes() && g[i].dtype() == f64,
                 "gradcheck: the gradient's shape differs: input {} is {}, its gradient {}", moved[i], describe(wanted[i]),
                 describe(g[i]));
        std::vector<double> v = values_of(g[i]);
        std::copy(v.begin(), v.end(), jacobians[i].d.begin() + e * jacobians[i].columns);
      }
    }
    return jacobians;
  }

  void difference() {
    numeric = analytic;
    for (size_t i = 0; i < moved.size(); ++i) {
      double* x = leaves[moved[i]].data<double>();
      for (int64_t c = 0; c < leaves[moved[i]].numel(); ++c) {
        double before = x[c], up = before + eps, down = before - eps;
        // Read before the input moves again: an output may be a view of it.
        x[c] = up;
        std::vector<std::vector<double>> above = evaluate();
        x[c] = down;
        std::vector<std::vector<double>> below = evaluate();
        x[c] = before;
        for (size_t j = 0; j < outputs.size(); ++j)
          for (size_t e = 0; e < above[j].size(); ++e)
            numeric[j][i].at(int64_t(e), c) = (above[j][e] - below[j][e]) / (up - down);
      }
    }
  }
  std::vector<std::vector<double>> evaluate() const {
    std::vector<Tensor> results = f(leaves);
    std::vector<std::vector<double>> out;
    for (size_t j : outputs) out.push_back(values_of(results[j]));
    return out;
  }

  void compare() {
    for (size_t j = 0; j < outputs.size(); ++j)
      for (size_t i = 0; i < moved.size(); ++i)
        for (size_t k = 0; k < analytic[j][i].d.size(); ++k) {
          double a = analytic[j][i].d[k], n = numeric[j][i].d[k];
          if (std::abs(a - n) <= atol + rtol * std::abs(n)) continue;  // false for NaN
          auto columns = size_t(analytic[j][i].columns);
          fail(
              "gradcheck: the gradient is wrong: d output {} [{}] / d input {} [{}] is {} by backward, {} by differences; "
              "correct the "
              "gradient, or the point is not differentiable",
              outputs[j], k / columns, moved[i], k % columns, a, n);
        }
  }
};

}  // namespace

bool detail::gradcheck(void* object, GradcheckCall call, const std::vector<Tensor>& inputs, double eps, double atol,
                       double rtol) {
  Checked f = [=](const std::vector<Tensor>& x) { return call(object, x); };
  GradMode guard(true);
  Check check{f, eps, atol, rtol, fresh_leaves(inputs), {}, {}, {}, {}};
  check.differentiate();
  check.difference();
  check.compare();
  return true;
}

bool detail::gradgradcheck(TensorFunction f, const std::vector<Tensor>& inputs, double eps, double atol, double rtol) {
  const std::vector<Tensor> outputs = f(inputs);
  std::vector<Tensor> all = inputs;
  for (const Tensor& y : outputs) all.push_back(randn(y.sizes(), y.dtype(), y.device()).requires_grad_());
  auto gradients = [&](const std::vector<Tensor>& x) {
    const std::vector<Tensor> in(x.begin(), x.begin() + int64_t(inputs.size())),
        seeds(x.begin() + int64_t(inputs.size()), x.end());
    std::vector<Tensor> wanted;
    for (const Tensor& t : in)
      if (t.requires_grad()) wanted.push_back(t);
    return grad(f(in), wanted, seeds, false, true, true);
  };
  return gradcheck(gradients, all, eps, atol, rtol);
}

}  // namespace dyadic::inline v1
