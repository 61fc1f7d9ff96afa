// Rounding accounted: each result against a shadow computed in a wider format.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/text.h"
#include "corridor/counters.h"
#include "loops/blocked.h"
#include "loops/pointwise.h"

namespace dyadic::inline v1 {
namespace {

struct RoundingCounts {
  std::mutex mutex;
  std::map<std::tuple<std::string, std::string, std::string>, RoundingCount> rows;
};
RoundingCounts& all_rounding_counts() {
  static RoundingCounts* t = new RoundingCounts;
  return *t;
}

DType wider(DType d) { return d == f64 ? DType() : d == f32 ? f64 : f32; }

// Operands narrower than `to`, and stored ones, become that; statistics in f32 beside bf16 numbers stay, as their kernels
// expect it.
Tensor widen(const Tensor& t, DType to) {
  const DType d = t.dtype();
  const bool real = d.is_floating_point() || d.is_scaled();
  if (!real || t.impl()->flags & kNumber || d == f64 || d == to || (d == f32 && to != f64)) return t;
  Arg args[] = {Arg(t), Arg(to)};
  Tensor out;
  call_op(Op::to_, args, 2, &out);
  return out;
}

struct Values {  // of a tensor as f64
  Tensor t;
  const double* p;
  explicit Values(const Tensor& from) {
    const Tensor here = brought(from, cpu);
    Arg args[] = {Arg(here), Arg(f64)};
    call_op(Op::to_, args, 2, &t);
    if (!t.is_contiguous()) {
      Tensor dense = make_tensor(t.sizes(), f64, cpu);
      copy_elements(dense, t);
      t = dense;
    }
    p = t.data<double>();
  }
};

bool any_nan(const Tensor& t) {
  if (!t.dtype().is_floating_point() || (t.impl()->flags & kNumber)) return false;
  const Values v(t);
  return std::any_of(v.p, v.p + t.numel(), [](double x) { return x != x; });
}

// `fresh`: no input of the call was NaN.
void count(const char* op, const Tensor& result, const Tensor& shadow, bool fresh) {
  const Values a(result), b(shadow);
  const FormatDef& format = *result.dtype().format()->def;
  const double largest = format.max, beyond = largest + std::ldexp(0.5, std::ilogb(largest) - format.mantissa_bits);
  RoundingCount add;
  add.elements = result.numel();
  for (int64_t i = 0; i < add.elements; ++i) {
    const double x = a.p[i], y = b.p[i];
    add.overflows += !std::isfinite(x) && std::isfinite(y);
    add.flushed += x == 0 && y != 0;
    add.saturated += std::abs(x) == largest && std::abs(y) >= beyond;
    add.nans += fresh && x != x && y != y;
    if (!std::isfinite(y)) continue;
    const double off = std::isfinite(x) ? x - y : y;
    add.squared += y * y;
    add.squared_difference += off * off;
  }
  RoundingCounts& t = all_rounding_counts();
  std::lock_guard lock(t.mutex);
  const char* module = module_path(t_module);
  RoundingCount& row = t.rows[{op, module, result.dtype().name()}];
  row.op = op;
  row.module = module;
  row.dtype = result.dtype();
  ++row.calls;
  row.elements += add.elements;
  row.overflows += add.overflows;
  row.flushed += add.flushed;
  row.saturated += add.saturated;
  row.nans += add.nans;
  row.squared += add.squared;
  row.squared_difference += add.squared_difference;
}

// What the call computes of inputs wider than its result: a conversion what it was given, undefined where that is not known.
bool make_shadow(Op id, const Arg* args, int n, DType result, Tensor* shadow, bool& fresh) {
  Arg wide[kMaxArgs];
  Tensor held[kMaxArgs];
  std::vector<Tensor> lists[kMaxArgs];
  bool any = false;
  auto take = [&](const Tensor& t) {
    Tensor w = widen(t, wider(result));
    any |= !w.is_same(t);
    fresh &= !any_nan(t);
    return w;
  };
  const int from = id == Op::copy_ ? 1 : 0;
  for (int i = from; i < n; ++i) {
    wide[i] = args[i];
    if (args[i].kind == Arg::Kind::tensor) {
      held[i] = take(*args[i].tensor);
      wide[i].tensor = &held[i];
    } else if (args[i].kind == Arg::Kind::tensors) {
      for (uint32_t j = 0; j < args[i].n; ++j) lists[i].push_back(take(args[i].tensor[j]));
      wide[i].tensor = lists[i].data();
    } else if (args[i].kind == Arg::Kind::dtype && op_def(id).pw.gives_dtype && args[i].dtype == result) {
      wide[i].dtype = wider(result);
    }
  }
  if (id == Op::to_ || id == Op::cast_ || id == Op::copy_) {
    shadow[0] = held[from];
    return shadow[0].dtype() != result;
  }
  if (any) call_op(id, wide, n, shadow);
  return any;
}

}  // namespace

static void compare_with_shadow(const Call& c) {
  const OpDef& op = c.op;
  const Tensor* out = c.out;
  if (op.kind == OpKind::view || op.random) return;
  DType result = out[0].defined() ? out[0].dtype() : DType();
  if (!result || !result.is_floating_point() || result == f64 || out[0].is_meta() || out[0].numel() == 0) return;
  bool overwritten = false;  // an input by the result
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { overwritten |= t.impl()->storage == out[0].impl()->storage; });
  if (overwritten && c.id != Op::copy_) return;
  ModeScope quiet(kNoGrad, kRounding | kCounting | kAutocast | kAutocastOff | kAnomaly);
  CategoryScope scope(Category::workspace);
  Tensor shadow[kMaxOutputs];
  bool fresh = true;
  if (!make_shadow(c.id, c.args, c.nargs, result, shadow, fresh)) return;
  for (int j = 0; j < c.nout; ++j)
    if (out[j].defined() && out[j].dtype().is_floating_point() && out[j].dtype() != f64 && shadow[j].sizes() == out[j].sizes())
      count(c.name, out[j], shadow[j], fresh);
}

[[gnu::constructor]] static void install() {
  g_interceptors[int(Stage::rounding)] = {.modes = kRounding, .observe = compare_with_shadow};
}

RoundingCounting::RoundingCounting() : before_(t_modes) { t_modes |= kRounding; }
RoundingCounting::~RoundingCounting() { t_modes = (t_modes & ~uint32_t(kRounding)) | (before_ & kRounding); }
std::vector<RoundingCount> RoundingCounting::counts() {
  RoundingCounts& t = all_rounding_counts();
  std::lock_guard lock(t.mutex);
  std::vector<RoundingCount> out;
  for (auto& [key, row] : t.rows) out.push_back(row);
  return out;
}
std::string RoundingCounting::table(bool all) {
  std::vector<RoundingCount> rows = counts();
  if (!all) std::erase_if(rows, [](const RoundingCount& c) { return !c.any(); });
  auto events = [](const RoundingCount& c) { return c.overflows + c.flushed + c.saturated + c.nans; };
  std::stable_sort(rows.begin(), rows.end(), [&](auto& a, auto& b) { return events(a) > events(b); });
  dyadic::Table t({"op", "module", "dtype", "calls", "elements", "overflow", "flushed", "saturated", "NaN"},
                  {Align::left, Align::left, Align::left});
  for (const RoundingCount& c : rows)
    t.row({c.op, c.module, c.dtype.name(), std::to_string(c.calls), std::to_string(c.elements), std::to_string(c.overflows),
           std::to_string(c.flushed), std::to_string(c.saturated), std::to_string(c.nans)});
  return t.str();
}
void RoundingCounting::clear() {
  std::lock_guard lock(all_rounding_counts().mutex);
  all_rounding_counts().rows.clear();
}

}  // namespace dyadic::inline v1
