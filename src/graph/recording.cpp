#include "graph/recording.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "corridor/run.h"
#include "graph/expression.h"

namespace dyadic::inline v1::graph {
namespace {

bool same(const Scalar& a, const Scalar& b) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  if (a.kind() != b.kind() || a.is_unsigned() != b.is_unsigned()) return false;
  if (a.kind() < Scalar::Kind::real) return a.integer() == b.integer();
  return bits(a.real()) == bits(b.real()) && bits(a.imag()) == bits(b.imag());
}
bool same(const Recorded::Operand& o, const Input& in) {
  if (o.source != in.source) return false;
  if (in.source < 0) return true;
  const TensorImpl& t = *in.tensor;
  if (o.format != t.dtype.format() || o.numel != in.numel || o.repeated != in.repeated || o.ndim != t.ndim ||
      o.number != bool(t.flags & kNumber))
    return false;
  for (int d = 0; d < o.ndim; ++d)
    if (o.sizes[d] != t.sizes[d]) return false;
  return true;
}

Scalar scalar_of(const Arg& a) { return a.kind == Arg::Kind::scalar ? a.scalar : Scalar(a.real); }

// How an operand's elements stand in the result's order. False: neither as one row, one element, nor one that repeats.
bool place(Recorded::Operand& o, const Recorded& call) {
  using Lies = FusedValue::Lies;
  if (o.numel == call.numel) return o.lies = Lies::dense, true;
  if (o.numel == 1) return o.lies = Lies::single, true;
  const int lead = call.ndim - o.ndim;
  auto has = [&](int d) { return d >= lead && o.sizes[d - lead] != 1 && !(o.repeated >> (d - lead) & 1); };
  int first = 0, last = call.ndim - 1;
  while (!has(first)) ++first;
  while (!has(last)) o.repeat *= call.sizes[last--];
  for (int d = first; d <= last; ++d)
    if (!has(d) && call.sizes[d] != 1) return false;
  o.lies = Lies::spread;
  o.period = o.numel;
  return true;
}

}  // namespace

bool Recorded::repeats(const Recorded& o, const std::vector<int>& first) const {
  if (op != o.op || dtype != o.dtype || asked != o.asked || tensors != o.tensors || numbers != o.numbers) return false;
  for (int i = 0; i < tensors; ++i)
    if (resolve(in[i].source, first) != resolve(o.in[i].source, first)) return false;
  return std::equal(scalars.begin(), scalars.end(), o.scalars.begin(), [](auto& a, auto& b) { return same(a, b); });
}

Recorded* Recording::match(Recorded& at, const Invocation& v, const Kind& kind, const Input* in) const {
  const DType standard = default_dtype();
  for (const std::unique_ptr<Recorded>& next : at.next) {
    Recorded& r = *next;
    if (r.op != v.op || r.in_place != kind.in_place || r.default_dtype != standard) continue;
    bool equal = true;
    for (int i = 0; i < r.tensors && equal; ++i) equal = same(r.in[i], in[i]);
    for (int i = 0; i < r.numbers && equal; ++i) equal = same(r.scalars[size_t(i)], scalar_of(v.args[r.tensors + i]));
    if (equal && kind.asks_dtype) equal = r.asked == v.args[r.tensors + r.numbers].dtype;
    if (equal) return &r;
  }
  return nullptr;
}

Recorded* Recording::record(Recorded& at, const Invocation& v, const Kind& kind, const Input* in, bool& other_size) {
  Tensor out;
  Call c(v.op, op_def(v.op), v.args, v.n, &out);
  infer(c);
  if (kind.in_place) {
    out = *v.args[0].tensor;
    check_overwrites(c, out);
    c.spec[0].dtype = out.dtype();
  }
  const Spec& s = c.spec[0];
  auto eagerly = [&](const char* why) {
    not_deferred(c.name, why);
    return nullptr;
  };
  if (!s.device.is_cpu()) return eagerly("a tensor that is not on the cpu");
  if (s.dtype.is_blocked()) return eagerly("a packed dtype");
  if (s.numel() < std::max<int64_t>(g_least_deferred, 1)) return eagerly("too few elements to gain by it");
  if (at.numel && s.numel() != at.numel) return other_size = true, nullptr;
  auto r = std::make_unique<Recorded>();
  r->op = v.op;
  r->converts = kind.converts;
  r->in_place = kind.in_place;
  r->tensors = kind.tensors;
  r->numbers = kind.numbers;
  r->default_dtype = default_dtype();
  if (kind.asks_dtype) r->asked = v.args[r->tensors + r->numbers].dtype;
  for (int i = 0; i < r->numbers; ++i) r->scalars.push_back(scalar_of(v.args[r->tensors + i]));
  r->dtype = s.dtype;
  r->ndim = s.ndim;
  r->numel = s.numel();
  std::copy_n(s.sizes, s.ndim, r->sizes);
  for (int i = 0; i < r->tensors; ++i) {
    Recorded::Operand& o = r->in[i];
    if ((o.source = in[i].source) < 0) continue;
    const TensorImpl& t = *in[i].tensor;
    o.format = t.dtype.format();
    o.number = t.flags & kNumber;
    o.ndim = t.ndim;
    o.numel = in[i].numel;
    o.repeated = in[i].repeated;
    std::copy_n(t.sizes, t.ndim, o.sizes);
    if (!place(o, *r)) return eagerly("an operand that is broadcast in the middle");
  }
  if (!kind.converts) {
    if (!kind.in_place) out = make_deferred(s.shape(), s.dtype);  // the plan wants to know how it lies
    c.kernel->plan(c);
    const auto& p = c.plan.parameters<PointwisePlan>();
    if (p.bits) return eagerly("integers as words");
    for (int i = 0; i < r->tensors; ++i)
      if (p.rounded[i]) return eagerly("a number that is rounded first");
    r->what = p;
    if (r->what.compute == Compute::f32) r->expression = expression_of(c.op.pw, r->scalars);
  }
  ++recorded;
  ++recorded_now_;
  return at.next.emplace_back(std::move(r)).get();
}

void Recording::clear() {
  root.next.clear();
  recorded_now_ = 0;
}

}  // namespace dyadic::inline v1::graph
