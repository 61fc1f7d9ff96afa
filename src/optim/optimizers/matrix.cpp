// Optimizers that see a whole tensor: Adafactor, Muon; LBFGS's record, whose step is lbfgs.cpp.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "optim/optimizers/optimizers.h"

namespace dyadic::inline v1::optim {
namespace {

// On meta it allocates what it does elsewhere, so that a dry run predicts the step's bytes.
double norm_of(const Tensor& x) {
  const Tensor squares = sum(square(x.to(f64)));
  return x.is_meta() ? 1 : std::sqrt(squares.item());
}
Tensor mean_square(const Tensor& g, int64_t dim) { return mean(square(g), {dim}, true); }

// The running mean of g^2, of matrices as the product of its rows' and columns' means.
Tensor adafactor_variance(Update& u, const Tensor& g, double weight, double eps) {
  auto average = [&](const char* key, const Tensor& value) {
    Tensor& s = u.own(key, zeros(value.sizes(), value.dtype(), value.device()));
    s.copy_(lerp(s, value, weight));
    return s;
  };
  if (g.dim() < 2) return average("variance", square(g));
  const Tensor rows = average("row_var", mean_square(g, -1)), columns = average("col_var", mean_square(g, -2));
  return div(matmul(rows, columns), clamp_min(mean(rows, {-2}, true), eps));
}

void adafactor(Update& u) {
  const double t = double(u.t), size = std::sqrt(double(std::max<int64_t>(u.p.numel(), 1)));
  const Tensor g = u.gradient();
  double eps = u.number("eps", 0);
  if (std::isnan(eps)) eps = u.p.dtype().format()->def->eps;
  const Tensor variance = adafactor_variance(u, g, std::pow(t, u.number("beta2_decay")), eps);
  const double alpha = std::max(u.number("eps", 1), norm_of(u.p.detach()) / size) * std::min(u.lr, 1 / std::sqrt(t));
  const Tensor update = mul(rsqrt(clamp_min(variance, eps * eps)), g);
  u.subtract(update * (alpha / std::max(1.0, norm_of(update) / (size * u.number("d")))), Decay::decoupled);
}

Tensor rounded(const Tensor& x) { return x.to(bf16).to(f32); }

// The nearest orthogonal matrix, roughly: Newton and Schulz's iteration on singular values. Every matrix and the norm are
// rounded to bf16, once, as PyTorch's are; sums and products between are f32.
Tensor orthogonalized(const Tensor& g, const Update& u) {
  const double a = u.number("ns_coefficients", 0), b = u.number("ns_coefficients", 1), c = u.number("ns_coefficients", 2);
  const bool tall = g.size(0) > g.size(1);
  Tensor x = rounded(tall ? g.t().contiguous() : g);
  x = rounded(x / rounded(full({}, std::max(norm_of(x), u.number("eps")), f32, x.device())));
  for (int i = 0; i < int(u.number("ns_steps")); ++i) {
    const Tensor gram = rounded(matmul(x, x.t()));
    const Tensor odd = rounded(add(gram * b, matmul(gram, gram) * c));
    x = rounded(add(x * a, matmul(odd, x)));
  }
  return (tall ? x.t() : x).contiguous();
}

void muon(Update& u) {
  const double momentum = u.number("momentum"), rows = double(u.p.size(0)), columns = double(u.p.size(1));
  const Tensor& kept = u.state({"momentum_buffer"});
  const Tensor g = u.gradient(), buffer = lerp(kept.to(g.dtype()).view(g.sizes()), g, 1 - momentum);
  kept.copy_(buffer.view(kept.sizes()).to(kept.dtype()));
  const Tensor direction = orthogonalized(u.flag("nesterov") ? lerp(g, buffer, momentum) : buffer, u);
  const std::string& how = u.o.word("adjust_lr_fn");
  const double ratio = how == "match_rms_adamw"      ? 0.2 * std::sqrt(std::max(rows, columns))
                       : how == "spectral_unclamped" ? std::sqrt(rows / columns)
                                                     : std::sqrt(std::max(1.0, rows / columns));
  u.subtract(direction.to(g.dtype()) * (u.lr * ratio), Decay::decoupled);
}
void check_muon(const char* who, const Options& o, const Tensor& p) {
  DY_CHECK_AS(ValueError, p.dim() == 2, "{}: a parameter is no matrix: it is {}; give the others to AdamW", who, describe(p));
  const std::string& how = o.word("adjust_lr_fn");
  DY_CHECK_AS(ValueError, how.empty() || how == "original" || how == "match_rms_adamw" || how == "spectral_unclamped",
              "{}: unknown adjust_lr_fn \"{}\"; the known ones are original, match_rms_adamw and spectral_unclamped", who, how);
}

void check_state(const char* who, const Options& o, const char* kept) {
  DY_CHECK_AS(ValueError, DType::parse(o.word("state")) == f32, "{}: {}: state is {}; leave it out", who, kept,
              o.word("state"));
}
void check_adafactor(const char* who, const Options& o, const Tensor&) {
  check_state(who, o, "its states are a row and a column of each matrix, in f32");
}

void check_lbfgs(const char* who, const Options& o, const Tensor&) {
  check_state(who, o, "its states are past steps and gradients, in the parameters' dtype");
  DY_CHECK_AS(ValueError, !o.flag("stochastic_rounding") && !o.has("compensation"),
              "{}: it moves all parameters at once, rounded to the nearest: leave stochastic_rounding and compensation out",
              who);
  const std::string& how = o.word("line_search_fn");
  DY_CHECK_AS(ValueError, how.empty() || how == "strong_wolfe",
              "{}: unknown line_search_fn \"{}\"; the known one is strong_wolfe", who, how);
}

constexpr OptimizerDef kMatrixOptimizers[] = {
    {"Adafactor(float lr=0.01, float beta2_decay=-0.8, float[] eps=(None, 0.001), float d=1.0, float weight_decay=0, *, bool "
     "maximize=False)",
     "AdamW's step without momentum, with the second moment of a matrix kept as one row and one column. (Shazeer and Stern "
     "2018.)",
     adafactor, check_adafactor},
    {"Muon(float lr=1e-3, float weight_decay=0.1, float momentum=0.95, bool nesterov=True, *, float[] ns_coefficients=(3.4445, "
     "-4.775, 2.0315), float eps=1e-7, int ns_steps=5, str? adjust_lr_fn=None)",
     "The momentum of a matrix, orthogonalized by Newton-Schulz steps in bf16. (Jordan et al. 2024.)", muon, check_muon, "",
     false},
    {"LBFGS(float lr=1, int max_iter=20, int? max_eval=None, float tolerance_grad=1e-7, float tolerance_change=1e-9, int "
     "history_size=100, str? line_search_fn=None)",
     "Limited-memory BFGS; step() takes a closure. line_search_fn: None or \"strong_wolfe\". (Nocedal and Wright 2006.)",
     nullptr, check_lbfgs, "", false},
};

}  // namespace

std::span<const OptimizerDef> matrix_optimizers() { return kMatrixOptimizers; }

std::vector<const OptimizerDef*> optimizer_defs() {
  std::vector<const OptimizerDef*> all;
  for (auto table : {sgd_optimizers(), adam_optimizers(), adaptive_optimizers(), matrix_optimizers()})
    for (const OptimizerDef& def : table) all.push_back(&def);
  return all;
}

}  // namespace dyadic::inline v1::optim
