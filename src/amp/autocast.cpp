#include "dyadic/amp.h"

#include <unordered_map>

#include "corridor/call.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

// Casts of leaves that require grad (weights), for the outermost scope of this thread.
struct Cast {
  Tensor source, result;
  uint32_t version;
};
struct State {
  DType dtype;
  int depth = 0;
  std::unordered_map<TensorImpl*, Cast> cache;
};
State& state() {
  static thread_local State s;
  return s;
}

Tensor to_type(const Tensor& t, DType to) {
  State& s = state();
  bool weight = t.is_leaf() && t.requires_grad() && GradMode::enabled();
  if (!weight) return dyadic::to(t, to);
  Cast& c = s.cache[t.impl()];
  if (!c.result.defined() || c.result.dtype() != to || c.version != t.version()) c = {t, dyadic::to(t, to), t.version()};
  return c.result;
}

void intercept(Op, const OpDef& op, Frame& f) {
  if (op.amp == Amp::promote) return;
  DType to = op.amp == Amp::lower ? state().dtype : f32;
  ModeScope off(0, kAutocast);  // the casts themselves
  for (int i = 0; i < f.n; ++i) {
    if (f.args[i].kind != Arg::Kind::tensor) continue;
    const Tensor& t = *f.args[i].tensor;
    // f64 keeps its precision, as in PyTorch: only f32, f16 and bf16 move. Scaled weights are decoded by the op.
    if (!t.dtype().is_floating_point() || t.dtype() == f64 || t.dtype() == to || (t.impl()->flags & kNumber)) continue;
    f.held[i] = to_type(t, to);
    f.args[i].tensor = &f.held[i];
  }
}

[[gnu::constructor]] void install() { g_interceptors.autocast = intercept; }

}  // namespace

Autocast::Autocast(DType dtype, bool enabled) : before_(state().dtype), was_on_(t_modes & kAutocast) {
  DY_CHECK_AS(ValueError, dtype == bf16 || dtype == f16, "autocast: the low precision is bf16 or f16, not {}", dtype.name());
  state().dtype = dtype;
  ++state().depth;
  t_modes = enabled ? t_modes | kAutocast : t_modes & ~uint32_t(kAutocast);
}
Autocast::~Autocast() {
  State& s = state();
  s.dtype = before_;
  t_modes = was_on_ ? t_modes | kAutocast : t_modes & ~uint32_t(kAutocast);
  if (--s.depth == 0) s.cache.clear();
}
bool Autocast::enabled() { return t_modes & kAutocast; }
DType Autocast::dtype() { return state().dtype ? state().dtype : bf16; }

}  // namespace dyadic::inline v1
