#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "amp/f8.h"
#include "base/log.h"
#include "base/text.h"
#include "corridor/call.h"
#include "corridor/run.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

enum class Why : uint8_t { lower, already, f32, promote, wide, f8, off };
constexpr const char* kWhy[] = {"lower: the op runs in the low precision",
                                "lower: its inputs were in a low precision already",
                                "f32: the op needs float32's range or digits",
                                "promote: the op runs in what its inputs promote to",
                                "float64 is left alone",
                                "f8: a linear layer, with delayed scaling",
                                "autocast is off in this region"};

struct Row {  // AutocastCalls of one op
  Why why;
  DType ran, given, and_given;
  int64_t calls, casts, cached;
};

// Casts of leaves that require grad (weights), for the outermost scope of this thread.
struct Cast {
  Tensor source, result;
  uint32_t version;
};
struct State {
  DType dtype = bf16;
  int depth = 0;
  bool cache_enabled = true;
  std::unordered_map<TensorImpl*, Cast> cache;
  std::vector<std::vector<Row>> rows = std::vector<std::vector<Row>>(size_t(kOps));  // by op
  bool low_made = false;  // something in the region has come out in a low precision
  bool warned_model = false, warned_input = false;
  DelayedScaling* scaling = nullptr;
  DelayedScaling own;
};
State& state() {
  static thread_local State s;
  return s;
}

bool is_low(DType d) { return d == bf16 || d == f16; }
DType low_of(DType d) { return d == f8e4m3fn ? bf16 : d; }

// The dtypes of a call's floating inputs, plain numbers left out.
struct Floats {
  DType first, other;
  bool f64_among = false;
  void add(const Tensor& t) {
    const DType d = t.dtype();
    if (!(d.is_floating_point() || d.is_scaled()) || (t.impl()->flags & kNumber)) return;
    f64_among |= d == f64;
    if (!first)
      first = d;
    else if (d != first && !other)
      other = d;
  }
};

void note(Op op, const Row& add) {
  for (Row& r : state().rows[size_t(op)])
    if (r.why == add.why && r.ran == add.ran && r.given == add.given && r.and_given == add.and_given) {
      r.calls += add.calls;
      r.casts += add.casts;
      r.cached += add.cached;
      return;
    }
  state().rows[size_t(op)].push_back(add);
}

// Autocast expects f32 weights and inputs; what is half already keeps the digits it has lost.
void warn_of_half(Op op, const Tensor& t) {
  State& s = state();
  if (!is_low(t.dtype()) || !t.is_leaf()) return;
  const char* module = module_path(t_module);
  const std::string where = fmt::format("{}{}{}", op_name(op), *module ? " in " : "", module);
  if (t.requires_grad()) {
    if (!std::exchange(s.warned_model, true))
      warn(
          fmt::format("autocast: the model is {} already (a parameter of {}): updates below its precision are lost, and what "
                      "needs float32 gets rounded numbers; leave .half() or .bfloat16() away: autocast casts float32 weights",
                      t.dtype().name(), where));
  } else if (GradMode::enabled() && !s.low_made && !std::exchange(s.warned_input, true)) {
    warn(
        fmt::format("autocast: an input is {} already (of {}): it has lost its digits before the first op; give float32: "
                    "autocast casts where it helps",
                    t.dtype().name(), where));
  }
}

Tensor to_type(const Tensor& t, DType to, Row& row) {
  State& s = state();
  ++row.casts;
  bool weight = t.is_leaf() && t.requires_grad() && GradMode::enabled() && s.cache_enabled && s.depth > 0;
  if (!weight) return dyadic::to(t, to);
  Cast& c = s.cache[t.impl()];
  if (c.result.defined() && c.result.dtype() == to && c.version == t.version()) {
    ++row.cached, --row.casts;
    return c.result;
  }
  c = {t, dyadic::to(t, to), t.version()};
  return c.result;
}

void cast_inputs(const Invocation& f, Tensor* held, DType to, Row& row) {
  ModeScope off(0, kAutocast);  // the casts themselves
  for (int i = 0; i < f.n; ++i) {
    if (f.args[i].kind != Arg::Kind::tensor) continue;
    const Tensor& t = *f.args[i].tensor;
    // f64 keeps its precision, as in PyTorch: only f32, f16 and bf16 move. Scaled weights are decoded by the op.
    if (!t.dtype().is_floating_point() || t.dtype() == f64 || (t.impl()->flags & kNumber)) continue;
    warn_of_half(f.op, t);
    if (t.dtype() == to) continue;
    held[i] = to_type(t, to, row);
    f.args[i].tensor = &held[i];
  }
}

bool rewrite(const Invocation& f, const OpDef& op, Tensor* held) {
  const Op id = f.op;
  if (op.kind == OpKind::view || id == Op::to_ || is_made(id)) return false;
  Floats floats;
  for_each_tensor(f.args, f.n, [&](const Tensor& t, int) { floats.add(t); });
  if (!floats.first) return false;
  State& s = state();
  const DType widest = !floats.other ? floats.first : floats.f64_among ? f64 : promote_types(floats.first, floats.other);
  Row row{Why::promote, widest, floats.first, floats.other, 1, 0, 0};
  if (t_modes & kAutocastOff) {
    row.why = Why::off;
  } else if (op.amp == Amp::promote) {
    s.low_made |= is_low(widest);
  } else if (floats.f64_among) {
    row.why = Why::wide;
    cast_inputs(f, held, op.amp == Amp::lower ? low_of(s.dtype) : f32, row);
  } else if (op.amp == Amp::f32) {
    row.why = Why::f32;
    row.ran = f32;
    cast_inputs(f, held, f32, row);
  } else if (s.dtype == f8e4m3fn && id == Op::linear_ && !floats.first.is_scaled() && !floats.other.is_scaled()) {
    row.why = Why::f8;
    row.ran = s.dtype;
    ModeScope off(0, kAutocast);
    f.out[0] = f8_linear(*Autocast::scaling(), *f.args[0].tensor, *f.args[1].tensor,
                         f.n > 2 && f.args[2].kind == Arg::Kind::tensor ? *f.args[2].tensor : Tensor(), s.cache_enabled);
    s.low_made = true;
    note(id, row);
    return true;
  } else {
    const DType low = low_of(s.dtype);
    cast_inputs(f, held, low, row);
    row.why = floats.first == low && !floats.other ? Why::already : Why::lower;
    row.ran = low;
    s.low_made = true;
  }
  note(id, row);
  return false;
}

[[gnu::constructor]] void install() { g_interceptors[int(Stage::autocast)] = {.modes = kRewriting, .rewrite = rewrite}; }

void check_dtype(DType d) {
  DY_CHECK_AS(ValueError, is_low(d) || d == f8e4m3fn, "autocast: the low precision is bf16, f16 or f8e4m3fn, not {}", d.name());
}

}  // namespace

Autocast::Autocast(DType dtype, bool enabled, bool cache, DelayedScaling* scaling)
    : Autocast(dtype, enabled, cache, scaling, true) {}
Autocast::Autocast(SameStep, DType dtype, DelayedScaling* scaling)
    : Autocast(dtype, true, state().cache_enabled, scaling, false) {}
Autocast::Autocast(DType dtype, bool enabled, bool cache, DelayedScaling* scaling, bool next_step)
    : before_(state().dtype), modes_(t_modes), cache_(state().cache_enabled), scaling_(state().scaling) {
  check_dtype(dtype);
  State& s = state();
  s.dtype = dtype;
  s.cache_enabled = cache;
  if (scaling) s.scaling = scaling;
  if (s.depth++ == 0) {
    s.low_made = false;
    if (dtype == f8e4m3fn && enabled && next_step) Autocast::scaling()->state().next_step();
  }
  const bool inside = t_modes & (kAutocast | kAutocastOff);
  t_modes &= ~uint32_t(kAutocast | kAutocastOff);
  if (enabled)
    t_modes |= kAutocast;
  else if (inside)
    t_modes |= kAutocastOff;
}
Autocast::~Autocast() {
  State& s = state();
  s.dtype = before_;
  s.cache_enabled = cache_;
  s.scaling = scaling_;
  constexpr uint32_t mine = kAutocast | kAutocastOff;
  t_modes = (t_modes & ~mine) | (modes_ & mine);
  if (--s.depth == 0) s.cache.clear();
}
bool Autocast::enabled() { return t_modes & kAutocast; }
DType Autocast::dtype() { return state().dtype; }
DelayedScaling* Autocast::scaling() { return state().scaling ? state().scaling : &state().own; }

void Autocast::set_enabled(bool on) { t_modes = on ? t_modes | kAutocast : t_modes & ~uint32_t(kAutocast); }
void Autocast::set_dtype(DType dtype) {
  check_dtype(dtype);
  state().dtype = dtype;
}
bool Autocast::cache_enabled() { return state().cache_enabled; }
void Autocast::set_cache_enabled(bool on) { state().cache_enabled = on; }
void Autocast::clear_cache() { state().cache.clear(); }

std::vector<AutocastCalls> Autocast::report() {
  std::vector<AutocastCalls> all;
  const auto& rows = state().rows;
  for (size_t op = 0; op < rows.size(); ++op)
    for (const Row& r : rows[op])
      all.push_back({op_name(Op(op)), r.ran, r.given, r.and_given, r.calls, r.casts, r.cached, kWhy[size_t(r.why)]});
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.op < b.op; });
  return all;
}

std::string Autocast::report_text() {
  using enum Align;
  Table table({"op", "ran in", "given", "calls", "casts", "cached", "why"}, {left, left, left, right, right, right, left});
  for (const AutocastCalls& c : report())
    table.row({c.op, c.ran.name(), c.and_given ? c.given.name() + ", " + c.and_given.name() : c.given.name(),
               std::to_string(c.calls), std::to_string(c.casts), std::to_string(c.cached), c.why});
  return table.str();
}

void Autocast::clear_report() {
  for (std::vector<Row>& rows : state().rows) rows.clear();
}

}  // namespace dyadic::inline v1
