// AQLM (Egiazarian, Panferov, Kuznedelev, Frantar, Babenko, Alistarh 2024, "Extreme Compression of Large Language Models via
// Additive Quantization", arXiv:2401.06118, sections 3.2 to 3.3): codes, codebooks and scales of a layer in turn, each for the
// least squared error of its output, which for a row w and what is stored for it, q, is (w - q) H (w - q)^T, H = sum of x x^T.
//
// Codes of 8 columns are searched for in a basis in which that error is a distance, so that the search is the one of rounding
// to nearest. The first ones are chosen in the columns' order, with what is lost made good in those that follow (gptq.cpp):
// with H^-1 = U^T U the error e of 8 columns B counts |e U_BB^-1|^2. Later ones are chosen while all others stand: |(v - t)
// L|^2, with L L^T = H_BB and t what the 8 columns would be without a codebook. Codebooks are the least squares' by a few steps
// of conjugate gradients under the diagonal's inverse, scales by their formula.
#include <cmath>

#include "base/check.h"
#include "dyadic/linalg.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "formats/aqlm_kernel.h"
#include "formats/format.h"
#include "quant/methods.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr int64_t kVector = 8, kWidth = 128;
constexpr int kSteps = 4;  // of conjugate gradients

// The blocks of 8 x 8 on a matrix's diagonal, [n / 8, 8, 8], f64.
Tensor diagonal_blocks(const Tensor& m) {
  const int64_t groups = m.size(0) / kVector;
  return permute(diagonal(m.to(f64).view({groups, kVector, groups, kVector}), 0, 0, 2), {2, 0, 1}).contiguous();
}
// [rows, cols] as [vectors, 8] in the order of codes, and back.
Tensor as_vectors(const Tensor& m) { return permute(m.reshape({m.size(0), -1, kVector}), {1, 0, 2}).reshape({-1, kVector}); }
Tensor as_matrix(const Tensor& vectors, int64_t rows) {
  return permute(vectors.view({-1, rows, kVector}), {1, 0, 2}).reshape({rows, -1});
}
Tensor columns(const Tensor& m, int64_t first, int64_t width) { return narrow(m, 1, first, width); }
double sum_of_products(const Tensor& a, const Tensor& b) { return sum((a * b).to(f64)).item(); }

class Layer {
  const Tensor weight_, products_, factor_;
  const Tensor stored_;
  const int64_t rows_, groups_, books_;
  const int bits_;
  Tensor words_;  // f32 [books, words, 8]
  Tensor scale_;  // f32 [rows, 1]
  Tensor codes_;  // u8 [groups, rows, books]

 public:
  // From the codebooks and scales of rounding to nearest.
  Layer(const Task& t, const Damped& h)
      : weight_(t.weight),
        products_(h.products),
        factor_(h.inverse_factor),
        stored_(to_nearest(t.weight, t.format)),
        rows_(weight_.size(0)),
        groups_(weight_.size(1) / kVector),
        books_(t.format.format()->params.codebooks),
        bits_(t.format.format()->params.word_bits),
        words_(planes(stored_)[2].second.to(f32).view({books_, -1, kVector})),
        scale_(planes(stored_)[1].second.to(f32).view({rows_, 1})),
        codes_(empty({groups_, rows_, books_}, u8)) {}

  double loss() const {
    const Tensor e = weight_ - decoded();
    return sum_of_products(e, matmul(e, products_));
  }

  void choose_in_order() {
    const Tensor w = weight_.clone();
    const Tensor basis = linalg::solve_triangular(diagonal_blocks(factor_),
                                                  eye(kVector, std::nullopt, f64).expand({groups_, kVector, kVector}), true)
                             .to(f32);
    for (int64_t first = 0; first < w.size(1); first += kWidth) {
      const int64_t width = std::min(kWidth, w.size(1) - first), rest = w.size(1) - first - width;
      const Tensor block = columns(w, first, width).contiguous(), errors = empty({rows_, width});
      const Tensor rows = narrow(factor_, 0, first, width), u = columns(rows, first, width);
      for (int64_t at = 0; at < width; at += kVector) {
        const int64_t group = (first + at) / kVector, behind = width - at - kVector;
        const Tensor wanted = columns(block, at, kVector).contiguous();
        select(codes_, 0, group).copy_(nearest(wanted, basis[group]));
        const Tensor error = matmul(wanted - values(group), basis[group]);
        columns(errors, at, kVector).copy_(error);
        if (behind)
          columns(block, at + kVector, behind).sub_(matmul(error, columns(narrow(u, 0, at, kVector), at + kVector, behind)));
      }
      if (rest) columns(w, first + width, rest).sub_(matmul(errors, columns(rows, first + width, rest)));
    }
  }

  // Where the search finds nothing nearer a code stays, so the loss never grows.
  void choose_again() {
    const Tensor blocks = diagonal_blocks(products_), basis = linalg::cholesky(blocks).to(f32);
    const Tensor inverse = linalg::inv(blocks).to(f32), q = decoded();
    for (int64_t first = 0; first < q.size(1); first += kWidth) {
      const int64_t width = std::min(kWidth, q.size(1) - first);
      const Tensor slope = matmul(weight_ - q, columns(products_, first, width));
      for (int64_t at = 0; at < width; at += kVector) {
        const int64_t group = (first + at) / kVector;
        const Tensor before = columns(q, first + at, kVector), codes = select(codes_, 0, group), kept = codes.clone();
        const Tensor wanted = before + matmul(columns(slope, at, kVector), inverse[group]);
        const auto distance = [&](const Tensor& v) { return sum(square(matmul(v - wanted, basis[group])), {1}, true); };
        codes.copy_(nearest(wanted, basis[group]));
        const Tensor found = values(group), nearer = lt(distance(found), distance(before));
        codes.copy_(where(nearer, codes, kept));
        const Tensor after = where(nearer, found, before);
        slope.add_(matmul(before - after, columns(narrow(products_, 0, first + at, kVector), first, width)));
        before.copy_(after);
      }
    }
  }

  // From the words that stand: in residual = P (best - words) the words' own products P are met through H alone.
  void fit_codebooks() {
    Tensor residual = collected(matmul(weight_ - decoded(), products_));
    const Tensor weights = collected(scale_ * diagonal(products_)), used = gt(weights, 0);
    const Tensor inverse = where(used, reciprocal(where(used, weights, ones_like(weights))), zeros_like(weights));
    Tensor z = residual * inverse, direction = z;
    double power = sum_of_products(residual, z);
    for (int step = 0; step < kSteps && power > 0; ++step) {
      const Tensor met = collected(matmul(scale_ * sums(direction), products_));
      const double curvature = sum_of_products(direction, met);
      if (!(curvature > 0)) break;
      words_ = words_ + direction * (power / curvature);
      residual = residual - met * (power / curvature);
      z = residual * inverse;
      const double next = sum_of_products(residual, z);
      direction = z + direction * (next / power);
      power = next;
    }
    words_ = words_.to(f16).to(f32);
  }

  void fit_scales() {
    const Tensor q = sums(words_), met = matmul(q, products_);
    const Tensor product = sum(weight_ * met, {1}, true), power = sum(q * met, {1}, true), there = gt(power, 0);
    const Tensor best = where(there, product / where(there, power, ones_like(power)), scale_);
    scale_ = best.to(planes(stored_)[1].second.dtype()).to(f32);
  }

  Tensor stored() const {
    const auto parts = planes(stored_);
    const Tensor all = permute(codes_, {1, 0, 2}).contiguous(), &kept = parts[0].second;
    const int64_t count = groups_ * books_, pitch = kept.numel() / rows_;
    parallel_for(rows_, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        aqlm_kernel().pack(all.data<uint8_t>() + row * count, count, bits_, kept.data<uint8_t>() + row * pitch);
    });
    parts[1].second.copy_(scale_.view({-1}));
    parts[2].second.copy_(words_.view({-1}));
    return stored_;
  }

 private:
  // Codes of 8 columns [rows, 8]: the words whose sum times the scale is near `wanted`, d away by |d basis|^2.
  Tensor nearest(const Tensor& wanted, const Tensor& basis) const {
    const Tensor x = matmul(wanted / scale_, basis), words = matmul(words_.view({-1, kVector}), basis);
    const Tensor codes = empty({rows_, books_}, u8);
    parallel_for(rows_, 64, [&](int64_t begin, int64_t end) {
      aqlm_kernel().search(words.data<float>(), books_, bits_, x.data<float>() + begin * kVector, end - begin,
                           codes.data<uint8_t>() + begin * books_);
    });
    return codes;
  }
  Tensor codes_of(const Tensor& codes, int64_t book) const { return select(codes, -1, book).to(i64).reshape({-1}); }
  Tensor sum_of(const Tensor& words, const Tensor& codes) const {
    Tensor all = index_select(words[0], 0, codes_of(codes, 0));
    for (int64_t b = 1; b < books_; ++b) all = all + index_select(words[b], 0, codes_of(codes, b));
    return all;
  }
  Tensor values(int64_t group) const { return scale_ * sum_of(words_, codes_[group]); }
  Tensor sums(const Tensor& words) const { return as_matrix(sum_of(words, codes_), rows_); }
  Tensor decoded() const { return scale_ * sums(words_); }
  // sums() transposed: for each word the sum over its places in `m`, times the rows' scales.
  Tensor collected(const Tensor& m) const {
    const Tensor vectors = as_vectors(scale_ * m);
    std::vector<Tensor> all;
    for (int64_t b = 0; b < books_; ++b)
      all.push_back(index_add(zeros({words_.size(1), kVector}), 0, codes_of(codes_, b), vectors));
    return stack(all);
  }
};

Result run_aqlm(const Task& t) {
  if (auto few = without_rows(t, "aqlm")) return *few;
  const Damped h = damped(t.inputs->products(), number(t, "damping"));
  if (!h.products.defined())
    return {to_nearest(t.weight, t.format), "the inputs' products have no Cholesky factor at any damping"};
  Layer layer(t, h);
  layer.choose_in_order();
  const auto rounds = int64_t(number(t, "rounds"));
  double loss = layer.loss();
  for (int64_t round = 0; round < rounds; ++round) {
    layer.fit_codebooks(), layer.fit_scales(), layer.choose_again();
    const double before = std::exchange(loss, layer.loss());
    if (!(loss < before * (1 - number(t, "tolerance")))) break;
  }
  return {layer.stored(), ""};
}

std::string refuses_aqlm(DType format) {
  return format.is_scaled() && format.format()->params.codebooks
             ? ""
             : fmt::format("{} has no codebooks of the tensor's own; use aqlm, or the method gptq", format.name());
}

}  // namespace

extern const Method aqlm_method;
const Method aqlm_method = {
    .sig = "aqlm(float damping=0.01, int rounds=6, float tolerance=0.005)",
    .doc =
        "Additive codebooks: codes in the columns' order, what they lose made good in those that follow; then codebooks and "
        "scales by least squares and codes anew, in turn.\n"
        "damping: added to the diagonal of the inputs' products, a share of its mean. rounds: of codebooks, scales and codes, "
        "at most. tolerance: a round that takes less than this share off the squared error is the last.",
    .source = "Egiazarian et al. 2024, arXiv:2401.06118",
    .needs_inputs = true,
    .refuses = refuses_aqlm,
    .run = run_aqlm,
};

}  // namespace dyadic::inline v1::quant
