// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
// Transformers", arXiv:2210.17323). Columns are rounded one after the other; what rounding a column does to x W^T is made good
// in the columns that are still to come. With H = sum of x x^T and H^-1 = U^T U (U upper), the error e = (w - q) / U_jj of
// column j takes e U_jk from every later column k.
//
// U is the inverse of R, where H = R R^T with R upper: the Cholesky factor of H with its order turned round. In f64; where H is
// not positive definite the damping is raised tenfold until it is.
#include <cmath>

#include "base/check.h"
#include "base/parallel.h"
#include "dyadic/linalg.h"
#include "quant/codes.h"
#include "quant/gptq_kernel.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
Damped damped(const Tensor& products, double damping) {
  Tensor h = products.to(f64);
  Tensor diagonal_of = diagonal(h);
  const double mean_square = mean(diagonal_of).item();
  if (!(mean_square > 0) || !std::isfinite(mean_square)) return {};
  // A column whose input is always zero in the data may be used all the same: it is rounded by itself, and takes no part.
  diagonal_of.copy_(where(eq(diagonal_of, 0), full_like(diagonal_of, mean_square), diagonal_of));
  for (double share = damping; share <= 10; share = std::max(share * 10, 1e-6)) {
    const Tensor raised = h + eye(h.size(0), std::nullopt, f64) * (share * mean_square);
    const auto [lower, info] = linalg::cholesky_ex(flip(raised, {0, 1}));
    if (info.item<int>() != 0) continue;
    const Tensor inverse = linalg::solve_triangular(lower, eye(h.size(0), std::nullopt, f64), false);
    if (!all(isfinite(inverse)).item<bool>()) continue;
    return {raised.to(f32), flip(inverse, {0, 1}).to(f32).contiguous()};
  }
  return {};
}

namespace {

// Rounds the columns [first, first + width) of w under the scales a, with what that costs made good in those that follow; gives
// what they became. w: f32 [out, in], contiguous.
Tensor round_block(const Tensor& w, int64_t first, const Affine& a, const CodeMap& map, const Tensor& factor) {
  const int64_t rows = w.size(0), width = a.scale.size(1), rest = w.size(1) - first - width;
  const Tensor block = narrow(w, 1, first, width).contiguous(), errors = empty({rows, width});
  const Tensor u = narrow(narrow(factor, 0, first, width), 1, first, width).contiguous();
  const Tensor scale = a.scale.contiguous(), offset = a.offset.contiguous();
  parallel_for(rows, 16384 / (width * width) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      gptq_kernel().round_row(block.data<float>() + r * width, errors.data<float>() + r * width, u.data<float>(), width,
                              scale.data<float>() + r * width, offset.data<float>() + r * width, map.level.data(),
                              int64_t(map.level.size()), map.uniform);
  });
  if (rest > 0) {
    const Tensor later = narrow(w, 1, first + width, rest);
    later.copy_(later - matmul(errors, narrow(narrow(factor, 0, first, width), 1, first + width, rest)));
  }
  return block;
}

// The columns [first, first + width) under the scales that they are to have.
Tensor with_scales(const Task& t, const Tensor& w, int64_t first, int64_t width) {
  const Tensor part = narrow(w, 1, first, width).contiguous();
  if (!t.options.flag("search")) return to_nearest(part, t.format);
  return with_searched_scales(part, narrow(importance_of(*t.inputs), 0, first, width).contiguous(), t.format);
}

// Scales of the weights as they were; columns in any order.
Tensor with_given_scales(const Task& t, const CodeMap& map, bool by_activity) {
  const Tensor stored = with_scales(t, t.weight, 0, t.weight.size(1));
  Affine a = affine_of(stored);
  Tensor w = t.weight.clone(), products = t.inputs->products(), back;
  if (by_activity) {
    const Tensor order = argsort(diagonal(products), 0, true);
    back = argsort(order);
    w = index_select(w, 1, order), a = {index_select(a.scale, 1, order), index_select(a.offset, 1, order)};
    products = index_select(index_select(products, 0, order), 1, order);
  }
  const Tensor factor = inverse_factor(products, number(t, "damping"));
  if (!factor.defined()) return {};
  std::vector<Tensor> rounded;
  constexpr int64_t kWidth = 128;
  for (int64_t first = 0; first < w.size(1); first += kWidth) {
    const int64_t width = std::min(kWidth, w.size(1) - first);
    rounded.push_back(
        round_block(w, first, {narrow(a.scale, 1, first, width), narrow(a.offset, 1, first, width)}, map, factor));
  }
  Tensor all = cat(rounded, 1);
  if (by_activity) all = index_select(all, 1, back);
  choose_codes(stored, all);
  return stored;
}

// Each group's scales are made when its turn comes, of the weights as they then are.
Tensor with_late_scales(const Task& t, const CodeMap& map, int64_t width) {
  const Tensor factor = inverse_factor(t.inputs->products(), number(t, "damping"));
  if (!factor.defined()) return {};
  const Tensor w = t.weight.clone();
  std::vector<Tensor> pieces;
  for (int64_t first = 0; first < w.size(1); first += width) {
    const Tensor piece = with_scales(t, w, first, width);
    choose_codes(piece, round_block(w, first, affine_of(piece), map, factor));
    pieces.push_back(piece);
  }
  return join_columns(pieces);
}

Result run_gptq(const Task& t) {
  if (auto few = without_rows(t, "gptq")) return *few;
  const CodeMap& map = *code_map(t.format);
  const int64_t width = own_columns(t.format, t.weight.size(0), t.weight.size(1));
  const bool by_activity = t.options.flag("act_order");
  const bool late = width > 0 && width < t.weight.size(1) && !by_activity && !t.options.flag("static_groups");
  const Tensor made = late ? with_late_scales(t, map, width) : with_given_scales(t, map, by_activity);
  if (!made.defined()) return {to_nearest(t.weight, t.format), "the inputs' products have no Cholesky factor at any damping"};
  return {made, ""};
}

}  // namespace

extern const Method gptq_method;
const Method gptq_method = {
    .sig = "gptq(float damping=0.01, bool act_order=False, bool static_groups=False, bool search=True)",
    .doc =
        "Rounds column by column; what that does to the layer's output is made good in the columns that follow.\n"
        "damping: added to the diagonal of the inputs' products, a share of its mean. act_order: columns with the largest "
        "inputs first, under scales of the original weights. static_groups: such scales in the usual order too. Otherwise "
        "a group's scales are made of its weights when its turn comes, where the format's groups are independent. search: "
        "scales are those that imatrix finds, not the encoder's.",
    .source = "Frantar et al. 2022, arXiv:2210.17323",
    .needs_inputs = true,
    .refuses = refuses_without_codes,
    .run = run_gptq,
};

}  // namespace dyadic::inline v1::quant
