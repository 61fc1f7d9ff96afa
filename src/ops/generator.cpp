#include "dyadic/generator.h"

#include <mutex>

#include "ops/random/generator.h"

namespace dyadic::inline v1 {
namespace {
std::mutex g_mutex;  // of the default generator
constinit thread_local Generator* t_generator = nullptr;
}  // namespace

Generator& default_generator() {
  static Generator g;
  return g;
}
GeneratorScope::GeneratorScope(Generator& g) : before_(t_generator) { t_generator = &g == &default_generator() ? nullptr : &g; }
GeneratorScope::~GeneratorScope() { t_generator = before_; }

void manual_seed(uint64_t seed) { set_generator_state({seed, 0}); }
GeneratorState generator_state() {
  if (t_generator) return t_generator->state();
  std::lock_guard lock(g_mutex);
  return default_generator().state();
}
void set_generator_state(GeneratorState state) {
  if (t_generator) return t_generator->set_state(state);
  std::lock_guard lock(g_mutex);
  default_generator().set_state(state);
}

namespace ops {

Draw next_draw() {
  std::unique_lock lock(g_mutex, std::defer_lock);
  if (!t_generator) lock.lock();
  const GeneratorState s = (t_generator ? *t_generator : default_generator()).draw();
  return {s.seed, s.calls};
}

namespace {
bool draws_direct(DType d) { return d.to_real() == f32 || d.to_real() == f64; }
}  // namespace

int64_t draw_workspace(const Call& c) { return draws_direct(c.spec[0].dtype) ? 0 : c.spec[0].numel() * 4; }

void draw(Call& c, void (*fill32)(uint64_t, uint64_t, int64_t, float*), void (*fill64)(uint64_t, uint64_t, int64_t, double*)) {
  const Tensor out = c.out[0].dtype().is_complex() ? complex_parts(c.out[0]) : c.out[0];
  Draw d = next_draw();
  if (out.dtype() == f64) return fill64(d.seed, d.stream, out.numel(), out.data<double>());
  auto* target = out.dtype() == f32 ? out.data<float>() : static_cast<float*>(c.workspace);
  fill32(d.seed, d.stream, out.numel(), target);
  if (out.dtype() != f32) assign(out, make_over(target, out.sizes(), f32));
}

}  // namespace ops
}  // namespace dyadic::inline v1
