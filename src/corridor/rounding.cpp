// Rounding accounted: each result against a shadow computed in a wider format.
#include <cmath>
#include <map>
#include <mutex>

#include "corridor/counters.h"

namespace dyadic::inline v1 {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::tuple<std::string, std::string, std::string>, RoundingCount> rows;
};
Table& table() {
  static Table* t = new Table;
  return *t;
}

DType wider(DType d) { return d == f64 ? DType() : d == f32 ? f64 : f32; }

Tensor widen(const Tensor& t) {
  DType w = t.dtype().is_floating_point() && !(t.impl()->flags & kNumber) ? wider(t.dtype()) : DType();
  if (!w) return t;
  Arg args[] = {Arg(t), Arg(w)};
  Tensor out;
  call_op(Op::to_, args, 2, &out);
  return out;
}

void count(const char* op, const Tensor& result, const Tensor& shadow) {
  auto as_f64 = [](const Tensor& t) {
    Arg args[] = {Arg(t), Arg(f64)};
    Tensor out;
    call_op(Op::to_, args, 2, &out);
    return out;
  };
  Tensor a = as_f64(result), b = as_f64(shadow);
  RoundingCount add;
  add.elements = a.numel();
  const double *x = a.data<double>(), *y = b.data<double>();
  for (int64_t i = 0; i < add.elements; ++i) {
    add.overflows += !std::isfinite(x[i]) && std::isfinite(y[i]);
    add.flushed += x[i] == 0 && y[i] != 0;
  }
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const char* module = module_path(t_module);
  RoundingCount& row = t.rows[{op, module, result.dtype().name()}];
  row.op = op;
  row.module = module;
  row.dtype = result.dtype();
  row.elements += add.elements;
  row.overflows += add.overflows;
  row.flushed += add.flushed;
}

}  // namespace

void compare_with_shadow(Op id, const OpDef& op, const Arg* args, int n, const Tensor* out, int nout) {
  if (op.kind == OpKind::view || op.random) return;
  DType result = out[0].defined() ? out[0].dtype() : DType();
  if (!result || !result.is_floating_point() || result == f64 || out[0].is_meta() || out[0].numel() == 0) return;
  ModeScope quiet(kNoGrad, kRounding | kCounting | kAutocast | kAnomaly);
  CategoryScope scope(Category::workspace);
  Arg wide[kMaxArgs];
  Tensor held[kMaxArgs];
  std::vector<Tensor> lists[kMaxArgs];
  bool any = false;
  for (int i = 0; i < n; ++i) {
    wide[i] = args[i];
    if (args[i].kind == Arg::Kind::tensor) {
      held[i] = widen(*args[i].tensor);
      any |= !held[i].is_same(*args[i].tensor);
      wide[i].tensor = &held[i];
    } else if (args[i].kind == Arg::Kind::tensors) {
      for (uint32_t j = 0; j < args[i].n; ++j) lists[i].push_back(widen(args[i].tensor[j]));
      wide[i].tensor = lists[i].data();
      any = true;
    }
  }
  if (!any) return;
  Tensor shadow[kMaxOutputs];
  if (id == Op::to_) {
    shadow[0] = held[0];  // the values before they were rounded
  } else {
    call_op(id, wide, n, shadow);
  }
  for (int j = 0; j < nout; ++j)
    if (out[j].defined() && out[j].dtype().is_floating_point() && out[j].dtype() != f64) count(op_name(id), out[j], shadow[j]);
}

RoundingCounting::RoundingCounting() : before_(t_modes) { t_modes |= kRounding; }
RoundingCounting::~RoundingCounting() { t_modes = (t_modes & ~uint32_t(kRounding)) | (before_ & kRounding); }
std::vector<RoundingCount> RoundingCounting::counts() {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  std::vector<RoundingCount> out;
  for (auto& [key, row] : t.rows) out.push_back(row);
  return out;
}
void RoundingCounting::clear() {
  std::lock_guard lock(table().mutex);
  table().rows.clear();
}

}  // namespace dyadic::inline v1
