// Inputs, layouts, comparing, registration.
#include "tests/op_suite/suite.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "autograd/engine.h"
#include "base/random.h"

namespace dyadic::op_suite {
namespace {

std::vector<std::string>& names() {
  static std::vector<std::string> all;
  return all;
}

double eps_of(DType d) { return d.format()->def->eps; }

// X X^T / n + 1 of every matrix [n, n].
std::vector<double> positive_definite(const std::vector<double>& x, int64_t n) {
  std::vector<double> out(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t row = int64_t(i) / n, col = int64_t(i) % n + row / n * n;  // rows of all matrices are counted on
    for (int64_t k = 0; k < n; ++k) out[i] += x[size_t(row * n + k)] * x[size_t(col * n + k)] / double(n);
    out[i] += row == col;
  }
  return out;
}

// Values of one tensor argument in f64. Streams are told apart by the argument's place; all checks see the same values.
std::vector<double> values(const Value& v, uint64_t stream, const OpDef& def, Case::Kind kind) {
  int64_t n = 1;
  for (int64_t s : v.shape) n *= s;
  std::vector<double> x(static_cast<size_t>(n));
  if (v.text == "randn" || v.text == "spd")
    random_normal(77, stream, n, x.data());
  else
    random_uniform(78, stream, n, x.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (v.text == "rand") x[i] = def.low + x[i] * (def.high - def.low);
    if (v.text == "steps") x[i] = std::clamp(std::round((def.low + x[i] * (def.high - def.low)) * 2) / 2, def.low, def.high);
    if (v.text == "mask") x[i] = x[i] < 0.5;
    if (v.text == "zeros") x[i] = 0;
    if (v.text == "ones") x[i] = 1;
    if (v.text == "indices") x[i] = double((v.classes - 1 + 3 * int64_t(i)) % std::max<int64_t>(v.classes, 1));
  }
  if (v.text == "spd") return positive_definite(x, v.shape.back());
  constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0};
  if (kind == Case::Kind::special)
    for (size_t i = 0; i < x.size(); ++i)
      if (i % 3 != stream % 3) x[i] = kSpecial[(i / (1 + stream * 6)) % 7];
  return x;
}

Tensor make_input(const Value& v, uint64_t stream, const OpDef& def, Case::Kind kind, DType dtype) {
  std::vector<double> x = values(v, stream, def, kind);
  if ((v.wide || v.complex) && dtype != f64) dtype = f32;
  if (v.text == "mask") dtype = boolean;
  if (v.text == "indices") dtype = i64;
  if (dtype.is_integer() && v.text != "indices")
    for (double& e : x)
      e = !std::isfinite(e) ? 0 : dtype.format()->def->kind == dyadic::Kind::uint ? std::abs(std::round(e)) : std::round(e);
  if (dtype == boolean && v.text != "mask")
    for (double& e : x) e = e > 0;
  Tensor t = from_data(x.data(), v.shape, f64).to(dtype);
  return v.complex ? complex(t, 0.5 * t - 1) : t;
}

}  // namespace

const char* layout_name(Layout l) {
  constexpr const char* kNames[] = {"contiguous", "strided", "transposed", "expanded", "offset", "reversed"};
  return kNames[int(l)];
}

std::vector<Tensor> make_inputs(const Case& c, DType dtype) {
  std::vector<Tensor> out;
  for (const Value* v : tensor_values(c.sample)) {
    out.push_back(make_input(*v, out.size(), op_def(c.sample.op), c.kind, dtype));
    DY_ASSERT(out.back().is_contiguous());
  }
  return out;
}

Tensor laid_out(const Tensor& t, Layout l) {
  NoGrad guard;
  const int64_t n = t.dim();
  if (l == Layout::contiguous || n == 0) return t;
  if (l == Layout::strided) {
    std::vector<int64_t> sizes = t.sizes().vec();
    for (int64_t& s : sizes) s = 2 * s + 1;
    Tensor v = ones(sizes, t.dtype(), t.device());
    for (int64_t d = 0; d < n; ++d) v = slice(v, d, 1, 2 * t.size(d) + 1, 2);
    v.copy_(t);
    return v;
  }
  if (l == Layout::transposed) {
    std::vector<int64_t> reversed;
    for (int64_t d = n; d-- > 0;) reversed.push_back(d);
    return t.permute(reversed).clone().permute(reversed);
  }
  if (l == Layout::reversed) {
    Tensor v = t.clone();
    for (int64_t d = 0; d < n; ++d) v = slice(v, d, std::nullopt, std::nullopt, -1);
    return v.copy_(t);
  }
  if (l == Layout::expanded) return t.size(0) > 0 ? slice(t, 0, 0, 1).clone().expand(t.sizes()) : t;
  Tensor room = zeros({t.numel() + 1}, t.dtype(), t.device());
  Tensor v = slice(room, 0, 1).view(t.sizes());
  v.copy_(t);
  return v;
}
std::vector<Tensor> laid_out(const std::vector<Tensor>& tensors, Layout l) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(laid_out(t, l));
  return out;
}
std::vector<Tensor> each(const std::vector<Tensor>& tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.defined() ? f(t) : t);
  return out;
}

namespace {

template <class F> Outcome outcome_of(F&& f) {
  try {
    return {f(), "", false};
  } catch (const TypeError& e) { return {{}, e.what(), true}; } catch (const Error& e) {
    return {{}, e.what(), false};
  }
}

}  // namespace

Outcome run(const Case& c, const std::vector<Tensor>& inputs) {
  return outcome_of([&] { return CallFrame(c.sample, inputs).run(); });
}
Outcome run_inplace(const Case& c, const std::vector<Tensor>& inputs) {
  return outcome_of([&] {
    CallFrame(c.sample, inputs).run_inplace();
    return std::vector<Tensor>{inputs.at(0)};
  });
}

std::vector<double> normal_upstream(size_t j, int64_t n) {
  static std::map<size_t, std::vector<double>> last;  // checks ask for the same again and again
  std::vector<double>& g = last[j];
  if (g.size() != size_t(n)) {
    g.resize(size_t(n));
    random_normal(79, j, n, g.data());
  }
  return g;
}

std::vector<Tensor> gradients(const Case& c, const std::vector<Tensor>& inputs, Upstream upstream) {
  std::vector<Tensor> leaves = inputs, wanted;
  for (Tensor& t : leaves)
    if (t.dtype().is_floating_point()) {
      const TensorImpl& i = *t.impl();
      t = make_view(t, i.shape(), {i.strides, i.ndim}, i.offset);  // a leaf of its own with the same strides
      wanted.push_back(t.requires_grad_());
    }
  std::vector<Tensor> out = CallFrame(c.sample, leaves).run(), roots, seeds;
  for (size_t j = 0; j < out.size(); ++j) {
    if (!out[j].defined() || !out[j].requires_grad()) continue;
    if (j > 0 && !skip_reason(c.sample.op, "second_output").empty()) break;
    const std::vector<double> g = upstream(j, out[j].numel());
    roots.push_back(out[j]);
    seeds.push_back(from_data(g.data(), out[j].sizes(), f64).to(out[j].dtype()).to(out[j].device()));
  }
  if (roots.empty()) return {};
  return grad(roots, wanted, seeds, false, false, true);
}

std::string bits(const Tensor& t) {
  if (!t.defined()) return "undefined";
  NoGrad guard;
  Tensor dense = t.detach().contiguous();
  std::string out = describe(t) + ":";
  if (t.numel()) out.append(static_cast<const char*>(dense.data_ptr()), size_t(dense.nbytes()));
  return out;
}
std::string bits(const std::vector<Tensor>& tensors) {
  std::string out;
  for (const Tensor& t : tensors) out += bits(t) + "|";
  return out;
}

std::vector<Tensor> widened(const Case& c, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Value* v : tensor_values(c.sample)) {
    const Tensor& t = inputs[out.size()];
    out.push_back(v->text == "mask" || v->text == "indices" ? t : t.to(t.dtype().is_complex() ? c128 : f64));
  }
  return out;
}

namespace {
int64_t g_compared = 0;
}
void compared() { ++g_compared; }

::testing::AssertionResult close(const Tensor& actual, const Tensor& expected, double ulps, double largest) {
  compared();
  if (!(actual.sizes() == expected.sizes()))
    return ::testing::AssertionFailure() << describe(actual) << " where " << describe(expected) << " was expected";
  if (actual.dtype().is_complex()) return close(view_as_real(actual), view_as_real(expected), ulps, largest);
  const bool wraps = actual.dtype().is_integer() && expected.dtype() != actual.dtype();
  const std::vector<double> raw = expected.to_vector();
  std::vector<double> a = actual.to_vector(),
                      e = wraps ? expected.to(i64).to(actual.dtype()).to_vector() : expected.to_vector();
  const bool truth = actual.dtype() == boolean;
  if (truth)
    for (double& v : e) v = v != 0;
  for (double v : e)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const bool real = actual.dtype().is_floating_point();
  const double eps = real ? ulps * eps_of(actual.dtype()) : 0, max = real ? actual.dtype().format()->def->max : INFINITY;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(e[i])) continue;
    constexpr double kExact = 9007199254740992;  // whole numbers beyond 2^53 wrap where f64 rounds
    if (wraps && !(std::abs(raw[i]) < kExact)) continue;
    if (truth && !std::isfinite(raw[i])) continue;  // a division by False
    if (a[i] == e[i] || (std::isinf(a[i]) && std::abs(e[i]) > max && (a[i] > 0) == (e[i] > 0))) continue;
    if (std::isfinite(a[i]) && std::isfinite(e[i]) && std::abs(a[i] - e[i]) <= eps * (std::abs(e[i]) + largest)) continue;
    return ::testing::AssertionFailure() << "element " << i << " of " << describe(actual) << " is " << a[i] << ", expected "
                                         << e[i] << " (off by "
                                         << std::abs(a[i] - e[i]) / (eps / ulps * (std::abs(e[i]) + largest)) << " of " << ulps
                                         << ")";
  }
  return ::testing::AssertionSuccess();
}

bool names_dtype(const Sample& s) {
  for (const Value& v : s.args)
    if (v.kind == Value::Kind::word) return true;
  return false;
}

double allowance(const OpDef& def, DType d) {
  const bool narrow = d == f16 || d == bf16;
  if (def.kind == OpKind::pointwise) return narrow ? 0.55 : 4;
  if (def.kind == OpKind::composite) return narrow ? 4 : 16;
  return narrow ? 1 : 16;
}

::testing::AssertionResult same(Op op, const Tensor& actual, const Tensor& expected) {
  if (!skip_reason(op, "layout_bits").empty()) return close(actual, expected, 8);
  compared();
  if (bits(actual) == bits(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the bits differ: " << close(actual, expected, 0).message();
}

bool differentiable(const OpDef& op) {
  if (op.kind == OpKind::composite) return true;
  for (int k = 0; k < op.pw.inputs; ++k)
    if (op.pw.has_grad(k)) return true;
  return op.backward != nullptr;
}

std::string skip_reason(Op op, std::string_view check) {
  for (const std::string& line : lines_of(op_def(op).skip))
    if (size_t colon = line.find(": "); colon != line.npos && std::string_view(line).substr(0, colon) == check)
      return line.substr(colon + 2);
  return "";
}

const std::vector<std::string>& check_names() { return names(); }

namespace {

class CheckTest : public ::testing::Test {
  Check check_;
  Op op_;
  std::string dtype_, skip_;
  Layout layout_;

 public:
  CheckTest(Check check, Op op, std::string dtype, Layout layout, std::string skip)
      : check_(std::move(check)), op_(op), dtype_(std::move(dtype)), skip_(std::move(skip)), layout_(layout) {}
  void TestBody() override {
    if (!skip_.empty()) GTEST_SKIP() << skip_;
    g_compared = 0;
    check_.body(op_, DType::parse(dtype_), layout_);
    if (!g_compared && !HasFailure() && !IsSkipped()) GTEST_SKIP() << "no call of the record reaches this check";
  }
};

bool lowered() {
  const char* isa = std::getenv("DYADIC_ISA");
  return isa && (std::string_view(isa) == "sse4" || std::string_view(isa) == "avx2");
}

}  // namespace

bool add_check(const Check& check) {
  names().emplace_back(check.name);
  if (check.once && lowered()) return true;
  for (int i = 0; i < kOps; ++i) {
    const Op op = Op(i);
    if (!check.applies(op, op_def(op))) continue;
    const std::string skip = skip_reason(op, check.name);
    for (const char* dtype : check.dtypes)
      for (Layout layout : check.layouts) {
        const std::string name = fmt::format("{}/{}/{}/{}", op_name(op), dtype, layout_name(layout), check.name);
        ::testing::RegisterTest("op_suite", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                                [=]() -> CheckTest* { return new CheckTest(check, op, dtype, layout, skip); });
      }
  }
  return true;
}

}  // namespace dyadic::op_suite
