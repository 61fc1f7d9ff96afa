#include "ops/nn/softmax.h"

#include "ops/operands.h"

namespace dyadic::inline v1::ops {
namespace {

struct Softmax {
  SoftmaxOperand x, y;
  int64_t outer, n, inner;
  bool log;
};
void run(const Softmax& p, const Pointers& at) {
  const Source x = p.x.read(at.in[0], at.workspace);
  softmax_kernel().forward(x, p.y.target(at.out[0], at.workspace), p.outer, p.n, p.inner, p.log);
  p.y.finish(at.out[0], at.workspace);
}
void run_rows(const Softmax& p, const Pointers& at, int64_t begin, int64_t end) {
  const Source x = from(p.x.read(at.in[0], at.workspace), begin * p.n);
  softmax_kernel().forward(x, from(p.y.target(at.out[0], at.workspace), begin * p.n), end - begin, p.n, 1, p.log);
}

}  // namespace

SoftmaxLayout::SoftmaxLayout(const char* who, IntList sizes, int64_t dim) : dim(wrap_dim(who, dim, int64_t(sizes.size()))) {
  constexpr int64_t kNarrow = 8;
  const AlongDim along(who, sizes, dim);
  outer = along.outer, n = along.n, inner = along.inner;
  turned = inner > 1 && !(inner >= kNarrow && n <= kSoftmaxColumns);
  if (turned) outer *= std::exchange(inner, 1);
}

static Operand with_dim_last(const Operand& o, const SoftmaxLayout& l) {
  return l.turned ? Operand(Array(o, static_cast<void*>(nullptr)).transposed(l.dim, -1)) : o;
}

SoftmaxOperand SoftmaxLayout::input(const Operand& given, DType dtype, Scratch& scratch) const {
  SoftmaxOperand o;
  o.format_ = dtype.format();
  if (!turned && given.dense && given.format == o.format_ && !o.format_->is_blocked()) return o;
  const Operand from = with_dim_last(given, *this), to(from.sizes(), dtype);
  o.copy_ = {to, from};
  o.at_ = scratch.bytes();
  scratch.take<char>(to.numel() * dtype.itemsize());
  o.scratch_ = scratch.bytes();
  scratch.take<char>(o.copy_.workspace);
  return o;
}
SoftmaxOperand SoftmaxLayout::result(const Operand& given, const SoftmaxOperand& in, Scratch& scratch) const {
  SoftmaxOperand o;
  o.format_ = given.format;
  if (!turned) return o;
  const Operand to = with_dim_last(given, *this), from(to.sizes(), given.dtype());
  o.copy_ = {to, from};
  o.at_ = in.at_;
  if (in.at_ < 0 || in.format_ != o.format_) {
    o.at_ = scratch.bytes();
    scratch.take<char>(from.numel() * from.itemsize());
  }
  o.scratch_ = scratch.bytes();
  scratch.take<char>(o.copy_.workspace);
  return o;
}

Source SoftmaxOperand::read(const void* given, void* workspace) const {
  if (at_ < 0) return {given, format_};
  char* const memory = static_cast<char*>(workspace);
  copy_.run(memory + at_, given, memory + scratch_);
  return {memory + at_, format_};
}
void SoftmaxOperand::finish(void* given, void* workspace) const {
  char* const memory = static_cast<char*>(workspace);
  if (at_ >= 0) copy_.run(given, memory + at_, memory + scratch_);
}

void infer_softmax(Call& c, const Tensor& self, int64_t dim, const Arg& dtype) {
  infer_like_first(c);
  c.spec[0].dtype = dtype_like(self, dtype);
  if (dtype.kind != Arg::Kind::dtype) check_float(c.name, self, "self");
  DY_CHECK_AS(TypeError, c.spec[0].dtype.is_floating_point(), "{}: the result is of floating-point numbers; dtype is {}",
              c.name, c.spec[0].dtype.name());
  wrap_dim(c.name, dim, self.dim());
}
void plan_softmax(Call& c, int64_t dim, bool log) {
  const Operand self = c.operand(0), result = c.result();
  const SoftmaxLayout l(c.name, self.sizes(), dim);
  Scratch scratch;
  Softmax& p = c.plan.make<run, Softmax>();
  p.x = l.input(self, result.dtype(), scratch);
  p.y = l.result(result, p.x, scratch);
  p.outer = l.outer, p.n = l.n, p.inner = l.inner, p.log = log;
  c.plan.workspace = scratch.bytes();
  if (p.inner == 1 && p.x.lies_there() && p.y.lies_there())
    c.plan.in_parts<run_rows, nullptr, Softmax>(p.outer, p.n, in(0), in(0));
}

void softmax_gradient(Grad& g, int64_t dim, bool log) {
  const Tensor d = g.g(), y = g.out();
  Tensor r;
  if (!GradMode::enabled())
    r = call(Op::softmax_backward_, d, y, dim, log);
  else if (log)
    r = sub(d, mul(exp(y), sum(d, {dim}, true)));
  else
    r = mul(y, sub(d, sum(mul(d, y), {dim}, true)));
  g.set(0, r.to(g.in_meta(0).dtype));
}

}  // namespace dyadic::inline v1::ops
