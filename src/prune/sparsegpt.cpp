// SparseGPT (Frantar, Alistarh 2023, "SparseGPT: Massive Language Models Can Be Accurately Pruned in One-Shot",
// arXiv:2301.00774). Columns are pruned one after the other, and what that does to x W^T is made good in the columns that are
// still to come. With H = sum of x x^T and H^-1 = U^T U (U upper), zeroing w_j costs (w_j / U_jj)^2, and the error w_j / U_jj
// takes U_jk of it from every later column k.
#include "base/check.h"
#include "prune/methods.h"
#include "quant/methods.h"

namespace dyadic::inline v1::prune {
namespace {

constexpr int64_t kBlock = 128;  // columns whose mask is chosen at once

Tensor costs(const Tensor& w, const Tensor& u) { return square(w / diagonal(u)); }

// w [out, width] becomes its pruned self; gives each column's error.
Tensor prune_block(const Tensor& w, const Tensor& u, const Task& t) {
  const int64_t width = w.size(1), of = t.sparsity.of;
  Tensor mask = of > 0 ? Tensor() : mask_of(costs(w, u), t.sparsity, t.scope, t.name);
  const Tensor errors = empty_like(w);
  for (int64_t j = 0; j < width; ++j) {
    if (of > 0 && j % of == 0) {
      const Tensor few = narrow(w, 1, j, of);
      mask = mask_of(square(few / narrow(diagonal(u), 0, j, of)), t.sparsity, t.scope, t.name);
    }
    const Tensor column = narrow(w, 1, j, 1), stays = narrow(mask, 1, of > 0 ? j % of : j, 1).to(f32);
    const Tensor rounded = column * stays, error = (column - rounded) / narrow(narrow(u, 0, j, 1), 1, j, 1);
    narrow(errors, 1, j, 1).copy_(error);
    column.copy_(rounded);
    if (j + 1 == width) continue;
    const Tensor later = narrow(w, 1, j + 1, width - j - 1);
    later.copy_(later - error * narrow(narrow(u, 0, j, 1), 1, j + 1, width - j - 1));
  }
  return errors;
}

Tensor run(const Task& t) {
  constexpr double kDamping = 0.01;
  const Tensor u = quant::inverse_factor(t.inputs->products(), kDamping);
  const int64_t in = t.weight.size(1);
  DY_CHECK_AS(ValueError, t.sparsity.of == 0 || in % t.sparsity.of == 0,
              "prune: {}:{} needs rows of a multiple of {}: {} has {} columns; exclude it", t.sparsity.zeros, t.sparsity.of,
              t.sparsity.of, t.name, in);
  DY_CHECK_AS(ValueError, u.defined(), "sparsegpt: the inputs' products of {} have no Cholesky factor at any damping", t.name);
  const int64_t block = t.sparsity.of > 0 ? kBlock / t.sparsity.of * t.sparsity.of : kBlock;
  const Tensor w = t.weight.clone();
  for (int64_t first = 0; first < in; first += std::max(block, t.sparsity.of)) {
    const int64_t width = std::min(std::max(block, t.sparsity.of), in - first), rest = in - first - width;
    const Tensor rows = narrow(u, 0, first, width);
    const Tensor errors = prune_block(narrow(w, 1, first, width), narrow(rows, 1, first, width), t);
    if (rest == 0) continue;
    const Tensor later = narrow(w, 1, first + width, rest);
    later.copy_(later - matmul(errors, narrow(rows, 1, first + width, rest)));
  }
  return w;
}

}  // namespace

extern const Method kSparseGpt = {
    .name = "sparsegpt",
    .doc = "Column by column, those whose loss can be made good best; the columns that follow make it good.",
    .source = "Frantar, Alistarh 2023, arXiv:2301.00774",
    .needs_inputs = true,
    .scope = Scope::matrix,
    .scores = by_inputs,
    .run = run,
};

}  // namespace dyadic::inline v1::prune
