#include "corridor/batching.h"
#include "ops/nn/cross_entropy_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::cross_entropy_loss_op {
namespace {

constexpr int64_t kMeanReduction = 1;  // 0: none, 1: mean, 2: sum

DType lse_type(const Call& c) { return c[arg::input].dtype() == f64 ? f64 : f32; }

void infer(Call& c) {
  const Tensor &x = c[arg::input], &t = c[arg::target];
  check_float("cross_entropy", x, "input");
  DY_CHECK_AS(TypeError, t.dtype() == i64, "cross_entropy: targets are class numbers in int64: target is {}", describe(t));
  DY_CHECK(x.dim() == 2 && t.dim() == 1 && x.size(0) == t.size(0), "cross_entropy: sizes do not fit: input is {}, target is {}",
           describe(x), describe(t));
  int64_t rows = x.size(0);
  c.nout = 2;
  bool cast = t_modes & kAutocast;  // the loss comes out in f32, as if the logits had been cast; they need not be
  c.spec[0].dtype = x.dtype().is_scaled() || (cast && x.dtype() != f64) ? f32 : x.dtype();
  c.spec[0].device = c.spec[1].device = x.device();
  if (c[arg::reduction] == 0) c.spec[0].shape({&rows, 1});
  c.spec[1].dtype = lse_type(c);
  c.spec[1].shape({&rows, 1});
}
struct Parameters {
  CrossEntropyShape shape;
  int64_t reduction;
  const Format *x, *own, *loss;  // own: of each row's loss
};
void run(const Parameters& p, const Pointers& at) {
  const auto* targets = static_cast<const int64_t*>(at.in[1]);
  const int64_t bad = cross_entropy_kernel().forward(p.shape, {at.in[0], p.x}, targets, at.workspace, at.out[1]);
  DY_CHECK_AS(IndexError, bad < 0, "cross_entropy: target out of range: target {} in row {}; there are {} classes",
              targets[bad], bad, p.shape.classes);
  if (p.reduction == 0) return convert(*p.own, at.workspace, *p.loss, at.out[0], p.shape.rows);
  double total = 0;
  const int64_t counted = cross_entropy_kernel().total(p.shape, at.workspace, p.own->compute(), targets, &total);
  if (p.reduction == kMeanReduction) total /= double(counted);
  convert(*f64.format(), &total, *p.loss, at.out[0], 1);
}
void plan(Call& c) {
  const CrossEntropyShape s{c[arg::input].size(0), c[arg::input].size(1), c[arg::ignore_index], c[arg::label_smoothing]};
  c.plan.workspace = s.rows * 8;
  c.plan.set<run>(Parameters{s, c[arg::reduction], format_of(c, arg::input), lse_type(c).format(), result_format(c)});
}
void backward(Grad& g) {
  Tensor x = g.in(arg::input), t = g.in(arg::target), lse = g.out(1);
  if (!GradMode::enabled()) {
    g.set(arg::input, call(Op::cross_entropy_loss_backward_, g.g(), x, t, lse, g[arg::reduction], g[arg::ignore_index],
                           g[arg::label_smoothing]));
    return;
  }
  int64_t rows = x.size(0), classes = x.size(1);
  Tensor column = t.view({rows, 1}), hot = eq(arange(0, classes, 1, i64, x.device()), column).to(x.dtype()),
         keep = ne(column, g[arg::ignore_index]).to(x.dtype());
  if (const double s = g[arg::label_smoothing]; s > 0) hot = add(mul(hot, 1 - s), s / double(classes));
  Tensor scale = g[arg::reduction] == 0 ? mul(g.g().reshape({rows, 1}), keep) : mul(keep, g.g());
  if (g[arg::reduction] == kMeanReduction) scale = div(scale, sum(keep));
  g.set(arg::input, mul(sub(softmax(x, 1), hot), scale));
}
double flops(const Call& c) { return 12.0 * double(c[arg::input].numel()); }

// Rows of all entries, whose losses each adds up by itself.
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  if (c[arg::reduction] == 0) return b.first(0);
  const int64_t rows = c[arg::input].size(0), classes = c[arg::input].size(1);
  const DType wide = lse_type(c);
  const Tensor x = b.whole(arg::input).reshape({b.entries * rows, classes}).to(wide), t = b.whole(arg::target),
               targets = t.reshape({-1});
  Arg args[] = {x, targets, int64_t(0), c[arg::ignore_index], c[arg::label_smoothing]};
  Tensor out[2];
  call_op(Op::cross_entropy_loss_, args, 5, out);
  Tensor loss = sum(out[0].reshape({b.entries, rows}), {1});
  if (c[arg::reduction] == kMeanReduction) loss = div(loss, sum(ne(t, c[arg::ignore_index]), {1}).to(wide));
  b.results[0] = loss, b.results[1] = out[1];
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "cross_entropy_loss(Tensor input, Tensor target, int reduction, int ignore_index, float label_smoothing=0.0) -> "
        "(Tensor, Tensor)",
    .doc =
        "cross_entropy of contiguous logits [rows, classes], and the log of each row's sum of exponentials. reduction: 0 none, "
        "1 mean, 2 sum. label_smoothing: the share of the target that goes to all classes alike.",
    .internal = true,
    .samples =
        "cross_entropy_loss(randn(4, 5), indices(5; 4), 1, -100)\ncross_entropy_loss(randn(4, 5), indices(5; 4), 0, "
        "2)\ncross_entropy_loss(randn(4, 5), indices(5; 4), 1, 2, 0.2)",
    .skip = "second_output: lse is not differentiated\nautocast: the loss comes out in f32 from logits of any type",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::input) | in(arg::target) | out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::cross_entropy_loss_op
