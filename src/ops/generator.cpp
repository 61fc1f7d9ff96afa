#include <mutex>

#include "ops/random/generator.h"

namespace dyadic::inline v1 {
namespace {
std::mutex g_mutex;
GeneratorState g_state;
constinit thread_local GeneratorState* t_generator = nullptr;
}  // namespace

GeneratorScope::GeneratorScope(GeneratorState& generator) : before_(t_generator) { t_generator = &generator; }
GeneratorScope::~GeneratorScope() { t_generator = before_; }

void manual_seed(uint64_t seed) { set_generator_state({seed, 0}); }
GeneratorState generator_state() {
  if (t_generator) return *t_generator;
  std::lock_guard lock(g_mutex);
  return g_state;
}
void set_generator_state(GeneratorState state) {
  if (t_generator) {
    *t_generator = state;
    return;
  }
  std::lock_guard lock(g_mutex);
  g_state = state;
}

namespace ops {

Draw next_draw() {
  if (t_generator) return {t_generator->seed, t_generator->calls++};
  std::lock_guard lock(g_mutex);
  return {g_state.seed, g_state.calls++};
}

namespace {
bool draws_direct(DType d) { return d.to_real() == f32 || d.to_real() == f64; }
}  // namespace

int64_t draw_workspace(const Call& c) { return draws_direct(c.spec[0].dtype) ? 0 : c.spec[0].numel() * 4; }

void draw(Call& c, void (*fill32)(uint64_t, uint64_t, int64_t, float*), void (*fill64)(uint64_t, uint64_t, int64_t, double*)) {
  const Tensor out = c.out[0].dtype().is_complex() ? parts_of(c.out[0]) : c.out[0];
  Draw d = next_draw();
  if (out.dtype() == f64) return fill64(d.seed, d.stream, out.numel(), out.data<double>());
  auto* target = out.dtype() == f32 ? out.data<float>() : static_cast<float*>(c.workspace);
  fill32(d.seed, d.stream, out.numel(), target);
  if (out.dtype() != f32) assign(out, make_over(target, out.sizes(), f32));
}

}  // namespace ops
}  // namespace dyadic::inline v1
