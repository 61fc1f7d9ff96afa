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

static void watch_result(const Call& c) {
  State& s = state();
  if (s.found || c.op.kind == OpKind::view) return;
  CategoryScope scope(Category::workspace);
  bool all = true;
  for (int i = 0; i < c.nout; ++i) all &= !c.out[i].defined() || good(c.out[i]);
  if (all) return;
  s.found = true;
  s.op = c.name;
  s.module = module_path(t_module);
  // Inputs that were bad already: parameters or data, not this op. Name what they are all the same.
  bool inputs = true;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { inputs &= good(t); });
  if (!inputs) s.op += s.raise ? " (of inputs that were nan)" : " (of inputs that were not finite)";
}

void raise_anomaly(const char* node, const Tensor& gradient, int input) {
  const State& s = state();
  if (!s.raise) return;
  CategoryScope scope(Category::workspace);
  if (good(gradient)) return;
  const bool elsewhere = s.found && s.op != std::string(node) + "_backward";
  const std::string place = s.found ? s.module : module_path(t_module);
  fail("backward: a gradient is nan: {} gave it to input {}{}{}{}{}", node, input, elsewhere ? "; the first nan came of " : "",
       elsewhere ? s.op : "", place.empty() ? "" : " in ", place);
}

[[gnu::constructor]] static void install_anomaly() {
  g_interceptors[int(Stage::anomaly)] = {.modes = kAnomaly, .observe = watch_result};
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
