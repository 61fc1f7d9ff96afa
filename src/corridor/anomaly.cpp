#include "dyadic/anomaly.h"

#include <cmath>

#include "corridor/counters.h"
#include "loops/blocked.h"

namespace dyadic::inline v1 {
namespace {

struct State {
  bool found = false, raise = false;
  std::string op, module;
};
State& state() {
  static thread_local State s;
  return s;
}

bool good(const Tensor& t) {
  if (t.is_meta() || !t.dtype().is_floating_point()) return true;
  Tensor wide = make_tensor(t.sizes(), compute_dtype(t.dtype()), cpu);
  read_values(t, wide.data_ptr());
  auto check = [&, nan_only = state().raise](auto* p) {
    for (int64_t i = 0, n = wide.numel(); i < n; ++i)
      if (nan_only ? std::isnan(p[i]) : !std::isfinite(p[i])) return false;
    return true;
  };
  return wide.dtype() == f64 ? check(wide.data<double>()) : check(wide.data<float>());
}

}  // namespace

void watch_result(Op id, const OpDef& op, const Arg* args, int n, const Tensor* out, int nout) {
  State& s = state();
  if (s.found || op.kind == OpKind::view) return;
  CategoryScope scope(Category::workspace);
  bool all = true;
  for (int i = 0; i < nout; ++i) all &= !out[i].defined() || good(out[i]);
  if (all) return;
  s.found = true;
  s.op = op_name(id);
  s.module = module_path(t_module);
  // Inputs that were bad already: parameters or data, not this op. Name what they are all the same.
  bool inputs = true;
  for_each_tensor(args, n, [&](const Tensor& t, int) { inputs &= good(t); });
  if (!inputs) s.op += s.raise ? " (of inputs that were nan)" : " (of inputs that were not finite)";
}

void raise_anomaly(const char* node, const Tensor& gradient, int input) {
  const State& s = state();
  if (!s.raise) return;
  CategoryScope scope(Category::workspace);
  if (good(gradient)) return;
  const std::string place = s.found ? s.module : module_path(t_module);
  fail("backward: a gradient is nan: {} gave it to input {}{}{}{}{}", node, input, s.found ? "; the first nan came of " : "",
       s.op, place.empty() ? "" : " in ", place);
}

Anomaly::Anomaly(bool raise) : before_(t_modes), raised_(state().raise) {
  state() = {.raise = raise};
  t_modes |= kAnomaly;
}
Anomaly::~Anomaly() {
  t_modes = (t_modes & ~uint32_t(kAnomaly)) | (before_ & kAnomaly);
  state().raise = raised_;
}
bool Anomaly::found() const { return state().found; }
std::string Anomaly::op() const { return state().op; }
std::string Anomaly::module() const { return state().module; }

}  // namespace dyadic::inline v1
