// Rounding accounted: each result against a shadow computed in a wider format.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/text.h"
#include "corridor/counters.h"
#include "loops/blocked.h"
#include "loops/pointwise.h"
#include "loops/rounding_kernel.h"

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

// A tensor's elements one after the other in the dtype on the host; itself, where it lies so.
Tensor dense_as(const Tensor& from, DType dtype) {
  const Tensor here = brought(from, cpu);
  Tensor t = here;
  if (t.dtype() != dtype) {
    Arg args[] = {Arg(here), Arg(dtype)};
    call_op(Op::to_, args, 2, &t);
  }
  if (t.is_contiguous()) return t;
  Tensor dense = make_tensor(t.sizes(), dtype, cpu);
  copy_elements(dense, t);
  return dense;
}

bool any_nan(const Tensor& t) {
  if (!t.dtype().is_floating_point() || (t.impl()->flags & kNumber)) return false;
  const Tensor here = dense_as(t, f64);
  const auto* p = here.data<double>();
  return std::any_of(p, p + t.numel(), [](double x) { return x != x; });
}

// Added in pieces, whose order does not depend on the number of threads.
RoundingSums compared(const Tensor& result, const Tensor& shadow) {
  constexpr int64_t kPiece = 1 << 14;
  const FormatDef& format = *result.dtype().format()->def;
  const double largest = format.max, beyond = largest + std::ldexp(0.5, std::ilogb(largest) - format.mantissa_bits);
  const bool narrow = result.dtype() != f32;
  const Tensor a = dense_as(result, f32), b = dense_as(shadow, narrow ? f32 : f64);
  const int64_t n = result.numel();
  std::vector<RoundingSums> pieces(size_t((n + kPiece - 1) / kPiece));
  parallel_for(int64_t(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t at = k * kPiece, some = std::min(kPiece, n - at);
      pieces[size_t(k)] =
          narrow ? rounding_kernel().beside_f32(a.data<float>() + at, b.data<float>() + at, some, largest, beyond)
                 : rounding_kernel().beside_f64(a.data<float>() + at, b.data<double>() + at, some, largest, beyond);
    }
  });
  RoundingSums all;
  for (const RoundingSums& piece : pieces) all.add(piece);
  return all;
}

// What is computed to compare with: it counts for nothing itself.
struct Aside {
  ModeScope quiet{kNoGrad, kRounding | kCounting | kAutocast | kAutocastOff | kAnomaly};
  CategoryScope scope{Category::workspace};
};

thread_local bool t_scaled_units = false;

// A call more, whose squares count where they are in the model's units.
RoundingCount& counted(RoundingCounts& t, const char* op, const Tensor& result, const RoundingSums& add, bool squares) {
  const DType dtype = result.dtype();
  const char* module = module_path(t_module);
  RoundingCount& row = t.rows[{op, module, dtype.name()}];
  row.op = op, row.module = module, row.dtype = dtype;
  ++row.calls;
  row.elements += result.numel();
  if (squares) row.squared += add.squared, row.squared_difference += add.squared_difference;
  return row;
}

// fresh(): no input of the call was NaN; asked where a result is.
void count(const char* op, const Tensor& result, const Tensor& shadow, FunctionRef<bool()> fresh) {
  const RoundingSums add = compared(result, shadow);
  const int64_t nans = add.nans && fresh() ? add.nans : 0;
  RoundingCounts& t = all_rounding_counts();
  std::lock_guard lock(t.mutex);
  RoundingCount& row = counted(t, op, result, add, !t_scaled_units);
  row.overflows += add.overflows;
  row.flushed += add.flushed;
  row.saturated += add.saturated;
  row.nans += nans;
}

// What the call computes of inputs wider than its result: a conversion what it was given, undefined where that is not known.
bool make_shadow(Op id, const Arg* args, int n, DType result, Tensor* shadow) {
  Arg wide[kMaxArgs];
  Tensor held[kMaxArgs];
  std::vector<Tensor> lists[kMaxArgs];
  bool any = false;
  auto take = [&](const Tensor& t) {
    Tensor w = widen(t, wider(result));
    any |= !w.is_same(t);
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
  const Aside aside;
  Tensor shadow[kMaxOutputs];
  if (!make_shadow(c.id, c.args, c.nargs, result, shadow)) return;
  const auto fresh = [&c] {
    bool nan = false;
    for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int i) { nan |= (c.id != Op::copy_ || i > 0) && any_nan(t); });
    return !nan;
  };
  for (int j = 0; j < c.nout; ++j)
    if (out[j].defined() && out[j].dtype().is_floating_point() && out[j].dtype() != f64 && shadow[j].sizes() == out[j].sizes())
      count(c.name, out[j], shadow[j], fresh);
}

ScaledUnits::ScaledUnits() : before_(std::exchange(t_scaled_units, true)) {}
ScaledUnits::~ScaledUnits() { t_scaled_units = before_; }

void compare_rounding(const char* op, const Tensor& result, FunctionRef<Tensor()> wider) {
  if (!(t_modes & kRounding) || result.is_meta() || result.numel() == 0) return;
  const Aside aside;
  const RoundingSums sums = compared(result, wider());
  RoundingCounts& t = all_rounding_counts();
  std::lock_guard lock(t.mutex);
  counted(t, op, result, sums, true);
}

[[gnu::constructor]] static void install_rounding() {
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
