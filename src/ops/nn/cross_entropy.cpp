#include "ops/composite.h"

namespace dyadic::inline v1::ops::cross_entropy_op {
namespace {

// The classes of [N, C, d1 ...] behind the other dimensions.
Tensor classes_last(Tensor x) {
  for (int64_t d = 2; d < x.dim(); ++d) x = x.transpose(d - 1, d);
  return x;
}
void check_shapes(Args a, bool fits) {
  DY_CHECK_AS(
      ValueError, fits,
      "cross_entropy: sizes do not fit: input is {}, target is {}; input is [N, C] or [N, C, ...], target [N, ...] or, for "
      "probabilities, as input",
      describe(a[arg::input]), describe(a[arg::target]));
}

// Targets are class numbers, classes weigh the same: one pass.
Tensor from_classes(Args a, Tensor x, Tensor t, int64_t reduction) {
  std::vector<int64_t> shape = t.sizes().vec();
  x = dense(classes_last(x));
  Tensor rows = x.view({t.numel(), x.size(-1)}), flat = t.contiguous().view({-1});
  Arg args[] = {rows, flat, reduction, a[arg::ignore_index], a[arg::label_smoothing]};
  Tensor out[2];
  call_op(Op::cross_entropy_loss_, args, 5, out);
  return reduction ? out[0] : out[0].view(shape);
}

// Weighted classes: (1 - s) times nll_loss, s / C times the weighted sum over all classes.
Tensor from_weighted(Args a, const Tensor& x, const Tensor& t) {
  const std::string_view reduction = a[arg::reduction];
  const double s = a[arg::label_smoothing];
  Tensor logs = log_softmax(classes_last(x), -1), weight = a[arg::weight];
  Tensor rows = logs.reshape({t.numel(), logs.size(-1)}), flat = t.contiguous().view({-1});
  Tensor loss = call(Op::nll_loss_, rows, flat, weight, a[arg::ignore_index], std::string_view("none"));
  Tensor ignored = eq(flat, a[arg::ignore_index]);
  if (s > 0) {
    const int64_t last[] = {1};
    Tensor all = where(ignored, scalar_tensor(0.0), neg(sum(mul(rows, weight), last)));
    loss = add(mul(loss, 1 - s), mul(all, s / double(rows.size(1))));
  }
  if (reduction == "mean") {
    Tensor known = where(ignored, scalar_tensor(0), flat);
    return div(sum(loss), sum(where(ignored, scalar_tensor(0.0), lookup(weight, known))));
  }
  return reduction == "sum" ? sum(loss) : loss.view(t.sizes());
}

Tensor from_probabilities(Args a, const Tensor& x, Tensor t) {
  const double s = a[arg::label_smoothing], classes = double(x.size(1));
  if (s > 0) t = add(mul(t, 1 - s), s / classes);
  Tensor terms = mul(log_softmax(classes_last(x), -1), classes_last(t));
  if (a.has(arg::weight)) terms = mul(terms, a[arg::weight]);
  const int64_t last[] = {-1};
  if (a[arg::reduction] == "none") return neg(sum(terms, last));
  Tensor total = neg(sum(terms));
  return a[arg::reduction] == "mean" ? div(total, double(x.numel()) / classes) : total;
}

Tensor compose(Args a) {
  Tensor x = a[arg::input], t = a[arg::target];
  if (t.dtype() == u8) t = to(t, i64);
  const std::string_view how = a[arg::reduction];
  const int64_t reduction = how == "none" ? 0 : how == "mean" ? 1 : how == "sum" ? 2 : -1;
  DY_CHECK_AS(ValueError, reduction >= 0, "cross_entropy: unknown reduction \"{}\"; the known ones are none, mean and sum",
              how);
  DY_CHECK_AS(ValueError, a[arg::label_smoothing] >= 0 && a[arg::label_smoothing] <= 1,
              "cross_entropy: label_smoothing is not in [0, 1]: it is {}", a[arg::label_smoothing]);
  check_float("cross_entropy", x, "input");
  const bool probabilities = (t.dtype().is_floating_point() || t.dtype().is_scaled()) && x.sizes() == t.sizes();
  const bool single = x.dim() == 1 && t.dim() == (probabilities ? 1 : 0);
  if (single) x = unsqueeze(x, 0), t = unsqueeze(t, 0);
  check_shapes(a, x.dim() >= 2 && (probabilities || x.dim() == t.dim() + 1));
  for (int64_t d = 0; !probabilities && d < t.dim(); ++d) check_shapes(a, t.size(d) == x.size(d ? d + 1 : 0));
  DY_CHECK(!a.has(arg::weight) || (a[arg::weight].dim() == 1 && a[arg::weight].size(0) == x.size(1)),
           "cross_entropy: weight has one value per class: input is {}, weight is {}", describe(a[arg::input]),
           a.has(arg::weight) ? describe(a[arg::weight]) : "");
  Tensor r = probabilities        ? from_probabilities(a, x, t)
             : a.has(arg::weight) ? from_weighted(a, x, t)
                                  : from_classes(a, x, t, reduction);
  return single && reduction == 0 ? squeeze(r, 0) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str reduction='mean', float "
        "label_smoothing=0.0) -> Tensor",
    .doc =
        "-weight[target] log softmax(input)[target] in nats: logits [N, C], [C] or [N, C, ...]; targets are class numbers "
        "int64 "
        "[N, ...], or probabilities as large as input. label_smoothing: the share of the target that goes to all classes "
        "alike. "
        "mean divides by the weights of the targets that are not ignored, for probabilities by N.",
    .kind = OpKind::composite,
    .low = 0.1,
    .high = 2,
    .samples =
        "cross_entropy(randn(4, 5), indices(5; 4), None, -100, 'sum')\n"
        "cross_entropy(randn(2, 5, 3), indices(5; 2, 3), None, 1, 'mean')\n"
        "cross_entropy(randn(2, 5, 3), indices(5; 2, 3), rand(5), 1, 'mean', 0.1)\n"
        "cross_entropy(randn(4, 5), indices(5; 4), rand(5), -100, 'none')\n"
        "cross_entropy(randn(4, 5), indices(5; 4), None, -100, 'none', 0.3)\n"
        "cross_entropy(randn(4, 5), rand(4, 5), rand(5), -100, 'mean', 0.2)\n"
        "cross_entropy(randn(2, 3, 4), rand(2, 3, 4), None, -100, 'none')",
    .bad =
        "cross_entropy(zeros(2, 3), indices(3; 3)) => cross_entropy: sizes do not fit: input is f32[2, 3], target is i64[3]; "
        "input "
        "is [N, C] or [N, C, ...], target [N, ...] or, for probabilities, as input\n"
        "cross_entropy(zeros(2, 3), indices(3; 2), zeros(2)) => cross_entropy: weight has one value per class: input is f32[2, "
        "3], "
        "weight is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cross_entropy_op
