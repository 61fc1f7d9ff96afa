#include "ops/composite.h"

namespace dyadic::inline v1::ops::ctc_loss_op {
namespace {

// Targets one after the other, as rows [batch, longest].
Tensor in_rows(const Tensor& targets, const Tensor& lengths) {
  check_has_values("ctc_loss", lengths);
  const int64_t total = lengths.numel() ? sum(lengths).item<int64_t>() : 0;
  DY_CHECK(targets.numel() == total, "ctc_loss: target_lengths do not add up: {} targets, the lengths sum to {}",
           targets.numel(), total);
  DY_CHECK(total == 0 || amin(lengths).item<int64_t>() >= 0, "ctc_loss: a target length is negative");
  const Tensor column = arange(0, total ? amax(lengths).item<int64_t>() : 0, 1, i64, targets.device());
  const Tensor place = add(unsqueeze(sub(cumsum(lengths, 0), lengths), 1), column);
  const Tensor known = lt(column, unsqueeze(lengths, 1));
  return total ? lookup(targets, where(known, place, scalar_tensor(0))) : zeros(place.sizes(), i64, targets.device());
}

Tensor compose(Args a) {
  Tensor x = a[arg::log_probs], targets = a[arg::targets];
  check_float("ctc_loss", x, "log_probs");
  DY_CHECK_AS(TypeError, targets.dtype().is_integer(), "ctc_loss: targets are class numbers: targets is {}", describe(targets));
  DY_CHECK(x.dim() == 2 || x.dim() == 3, "ctc_loss: log_probs is [time, batch, classes] or [time, classes]: it is {}",
           describe(x));
  const bool single = x.dim() == 2;
  if (single) x = unsqueeze(x, 1), targets = targets.reshape({1, targets.numel()});
  targets = to(targets, i64);
  const Tensor input_lengths = reshape(to(a[arg::input_lengths], i64), {-1}),
               target_lengths = reshape(to(a[arg::target_lengths], i64), {-1});
  if (targets.dim() == 1) targets = in_rows(targets, target_lengths);
  const DType given = plain(x);
  x = to(x, given == f64 ? f64 : f32);
  Tensor out[2];
  Arg call_args[] = {x, targets, input_lengths, target_lengths, a[arg::blank]};
  call_op(Op::ctc_paths_, call_args, 5, out);
  Tensor loss = out[0];
  if (a[arg::zero_infinity]) loss = where(isinf(loss), scalar_tensor(0.0), loss);
  if (a[arg::reduction] == "mean") loss = div(loss, to(maximum(target_lengths, scalar_tensor(1)), x.dtype()));
  if (single) loss = squeeze(loss, 0);
  return to(reduced("ctc_loss", loss, a[arg::reduction]), given);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str "
        "reduction='mean', bool zero_infinity=False) -> Tensor",
    .doc =
        "Connectionist temporal classification (Graves et al. 2006): -log of the probability that log_probs [time, batch, "
        "classes] "
        "or [time, classes] spell targets, [batch, longest] or all one after the other, once repeats and blanks are dropped. "
        "mean "
        "divides each loss by its target's length first. zero_infinity: targets that do not fit count as 0. The gradient is "
        "that "
        "of log_probs themselves; PyTorch's takes them for a log_softmax's, whose own gradient makes the two the same.",
    .kind = OpKind::composite,
    .samples =
        "ctc_loss(randn(6, 1, 4), indices(4; 1, 2), indices(7; 1), indices(3; 1))\n"
        "ctc_loss(randn(5, 4), indices(4; 2), indices(6; 1), indices(3; 1), 1, 'sum')\n"
        "ctc_loss(randn(5, 3, 4), indices(4; 3, 2), indices(6; 3), indices(3; 3), 0, 'none', True)\n"
        "ctc_loss(randn(1, 1, 4), indices(4; 1, 2), indices(2; 1), indices(3; 1), 0, 'sum', True)",
    .bad =
        "ctc_loss(zeros(3, 1, 2), zeros(1, 1), indices(4; 1), indices(2; 1)) => ctc_loss: targets are class numbers: targets "
        "is "
        "f32[1, 1]\n"
        "ctc_loss(zeros(3, 1, 2), indices(2; 2), indices(4; 1), indices(2; 1)) => ctc_loss: target_lengths do not add up: 2 "
        "targets, the lengths sum to 1",
    .skip =
        "torch_gradients: PyTorch's is that of the logits below a log_softmax\n"
        "double_backward: the gradient has none of its own, as in PyTorch",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::ctc_loss_op
