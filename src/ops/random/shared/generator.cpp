#include "dyadic/generator.h"

#include <cmath>
#include <mutex>

#include "corridor/batching.h"
#include "loops/pointwise.h"
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

Draw next_draw() {
  if (t_batch_level) check_draws(*t_batch_level);
  std::unique_lock lock(g_mutex, std::defer_lock);
  if (!t_generator) lock.lock();
  const GeneratorState s = (t_generator ? *t_generator : default_generator()).draw();
  return {s.seed, s.calls};
}

namespace ops {

namespace {

struct Drawing {
  const Format* format;  // of real numbers, of which a complex one is two
  int64_t count;
  bool normal;
  double scale;  // 1: none
};
template <class T> void draw(const Drawing& p, Draw d, T* out) {
  if (p.normal)
    random_normal(d.seed, d.stream, p.count, out);
  else
    random_uniform(d.seed, d.stream, p.count, out);
  if (p.scale == 1) return;
  parallel_for(p.count, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] *= T(p.scale);
  });
}
void run_draw(const Drawing& p, const Pointers& at) {
  if (p.format == f64.format()) return draw(p, at.draw, static_cast<double*>(at.out[0]));
  if (p.format == f32.format()) return draw(p, at.draw, static_cast<float*>(at.out[0]));
  draw(p, at.draw, static_cast<float*>(at.workspace));
  const int64_t sizes[] = {p.count};
  copy_elements(Array(sizes, DType(p.format), at.out[0]), Array(sizes, f32, at.workspace));
}

}  // namespace

void plan_draw(Call& c, bool normal) {
  const Operand out = c.result();
  const DType real = out.dtype().to_real();
  const bool complex = out.dtype().is_complex();
  c.plan.draws = true;
  c.plan.workspace = real == f32 || real == f64 ? 0 : out.count * 4;
  c.plan.set<run_draw>(Drawing{real.format(), out.count * (complex ? 2 : 1), normal, normal && complex ? std::sqrt(0.5) : 1.0});
}

void store_integers(const Format* format, int64_t count, const Pointers& at) {
  if (format == i64.format()) return;
  const int64_t sizes[] = {count};
  copy_elements(Array(sizes, DType(format), at.out[0]), Array(sizes, i64, at.workspace));
}

}  // namespace ops
}  // namespace dyadic::inline v1
