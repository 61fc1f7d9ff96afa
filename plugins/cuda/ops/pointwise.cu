// Pointwise calls: from an op's kernels (pointwise/kernels.h) to a plan, as corridor/pointwise.cpp has it for tiles.
#include <algorithm>

#include "plugins/cuda/kernel.h"
#include "plugins/cuda/pointwise/op_kernel.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int64_t kMostUnits = (int64_t(1) << 31) - 1;  // of one launch

// An operand that the kernel does not take as it lies: in the workspace it has the compute type.
struct Converted {
  int operand;
  int64_t place;
  Transfer copy;
};
struct Pointwise {
  const OpKernel* kernel;
  Compute compute;
  int run;       // elements of a run, as far as strides and formats allow it; 1: none
  uint8_t host;  // bit i: input i is a number of the host's
  int converted;
  const Converted* conversions;
  int64_t place;               // of the device's numbers that are rounded
  Code rounded[kMaxOperands];  // not none: input i, a single element, is rounded to this format before it is read
  Work work;                   // in elements
};

// f(T()) of the compute type.
template <class F> decltype(auto) with_compute(Compute compute, F f) {
  switch (compute) {
    case Compute::f32:
      return f(float());
    case Compute::f64:
      return f(double());
    case Compute::i32:
      return f(int32_t());
    case Compute::i64:
      return f(int64_t());
    case Compute::u64:
      return f(uint64_t());
    case Compute::c64:
      return f(Parts<float>());
    default:
      return f(Parts<double>());
  }
}

DY_DEVICE float rounded_number(Code from, const void* at, Code to) {
  const double x = load<double>(from, at, 0);
  return with_element(to, [&](auto e) {
    using E = decltype(e);
    return number<float>(E::value(E::stored(x)));
  });
}
__global__ void __launch_bounds__(32) round_number(Code from, const void* source, Code to, float* target) {
  if (threadIdx.x == 0) *target = rounded_number(from, source, to);
}

bool aligned_for_runs(const Work& w, int run, int operands) {
  for (int k = 0; k < operands; ++k)
    if (w.lies[k] == Lies::strided && !is_aligned(w.at[k], run * w.bytes[k])) return false;
  return true;
}
// The last dimension in runs. (Places where only the result of one run ends early.)
void count_in_runs(Work& w, int run) {
  Space<kPlaces>& s = w.space;
  const int last = s.ndim - 1;
  const int64_t n = s.size[last].by, runs = (n + run - 1) / run;
  w.run = run, w.rest = int(n - (runs - 1) * run);
  s.size[last].by = runs;
  for (int k = 0; k < kPlaces; ++k) s.stride[k][last] *= run;
  s.finish();
}

// In pieces of at most kMostUnits.
void start(Launched kernel, const Work& work) {
  const Space<kPlaces>& s = work.space;
  const int64_t length = s.size[0].by, inner = s.count / length;
  const bool deep = inner > kMostUnits;
  const int64_t rows = deep ? 1 : kMostUnits / inner;
  for (int64_t begin = 0; begin < length; begin += rows) {
    Work w = work;
    const int64_t n = std::min(rows, length - begin);
    for (int k = 0; k < kPlaces; ++k)
      if (w.lies[k] >= Lies::repeated) w.at[k] += begin * s.stride[k][0];
    if (begin + n < length) w.rest = w.run;
    if (deep) {
      w.space.ndim = s.ndim - 1;
      for (int d = 1; d < s.ndim; ++d) {
        w.space.size[d - 1] = s.size[d];
        for (int k = 0; k < kPlaces; ++k) w.space.stride[k][d - 1] = s.stride[k][d];
      }
      w.space.finish();
      start(kernel, w);
      continue;
    }
    w.units = uint32_t(n * inner);
    constexpr int64_t kOfBlock = kRuns * kThreads;
    launch(kernel, w.run == 1 ? grid_for(w.units, 1, kThreads) : Grid{(w.units + kOfBlock - 1) / kOfBlock, kThreads}, w);
  }
}

void read_numbers(const Pointwise& p, Work& w, void* workspace) {
  for (int i = 0; i < p.kernel->inputs; ++i) {
    const bool here = p.host >> i & 1;
    if (w.lies[i] == Lies::nowhere) continue;
    if (p.rounded[i] != Code::none && !here) {
      auto* to = static_cast<float*>(at_place(workspace, p.place)) + i;
      launch(round_number, Grid{.threads = 32}, w.code[i], static_cast<const void*>(w.at[i]), p.rounded[i], to);
      w.code[i] = Code::f32, w.at[i] = reinterpret_cast<const char*>(to);
    } else if (p.rounded[i] != Code::none) {
      const float x = rounded_number(w.code[i], w.at[i], p.rounded[i]);
      __builtin_memcpy(w.number[i], &x, sizeof(x));
    } else if (here) {
      with_compute(p.compute, [&](auto type) {
        const auto x = load<decltype(type)>(w.code[i], w.at[i], 0);
        __builtin_memcpy(w.number[i], &x, sizeof(x));
      });
    }
  }
}

void run(const Pointwise& p, const Pointers& at) {
  Work w = p.work;
  const int n = p.kernel->inputs;
  for (int i = 0; i < n; ++i) w.at[i] = static_cast<const char*>(at.in[i]);
  w.at[n] = static_cast<const char*>(at.out[0]);
  for (int j = 0; j < p.converted; ++j) {
    const Converted& x = p.conversions[j];
    void* here = at_place(at.workspace, x.place);
    if (x.operand < n) x.copy.run(here, w.at[x.operand]);
    w.at[x.operand] = static_cast<const char*>(here);
  }
  read_numbers(p, w, at.workspace);
  int run = p.run;
  while (run > 1 && !aligned_for_runs(w, run, n + 1)) run = run > kRun ? kRun : 1;
  w.run = 1;
  if (run > 1) count_in_runs(w, run);
  start((run > 1 ? p.kernel->runs : p.kernel->elements)[int(p.compute)], w);
  for (int j = 0; j < p.converted; ++j)
    if (p.conversions[j].operand == n) p.conversions[j].copy.run(at.out[0], w.at[n]);
}

// A number is compared as what it is beside the other operand: 0.3 is equal to the bf16 number nearest to it.
void round_numbers(const Call& c, Pointwise& p) {
  const auto strength = [&](int i) { return c.impl(i).flags & kNumber ? 0 : c.impl(i).ndim == 0 ? 1 : 2; };
  const auto is_float = [](Code code) {
    return code != Code::boolean &&
           with_element(code, [](auto e) { return std::is_same_v<typename decltype(e)::Value, float>; });
  };
  for (int i = 0; i < p.kernel->inputs; ++i) {
    const int other = 1 - i;
    if (p.kernel->inputs != 2 || c.impl(i).ndim || strength(other) <= strength(i)) continue;
    const Code mine = code_of(c.impl(i).dtype.format()), beside = code_of(c.impl(other).dtype.format());
    if (mine == Code::f32 || !(mine == Code::f64 || is_float(mine))) continue;
    if (beside != Code::f32 && beside != mine && beside != Code::none && is_float(beside)) p.rounded[i] = beside;
  }
}

// How operand k lies in runs along the last dimension; nowhere: it does not. Its other strides must keep runs aligned.
Lies lies_in_runs(const Work& w, int k, int run) {
  const Space<kPlaces>& s = w.space;
  const int last = s.ndim - 1;
  if (s.stride[k][last] == 0) return Lies::repeated;
  if (s.stride[k][last] != w.bytes[k] || run * w.bytes[k] > 16) return Lies::nowhere;
  for (int d = 0; d < last; ++d)
    if (s.stride[k][d] % (run * w.bytes[k]) != 0) return Lies::nowhere;
  return Lies::strided;
}
bool find_runs(Pointwise& p, int run) {
  Work& w = p.work;
  const int n = p.kernel->inputs, last = w.space.ndim - 1;
  if (w.space.count < run || (last > 0 && w.space.size[last].by % run != 0)) return false;
  Lies lies[kPlaces];
  for (int k = 0; k <= n; ++k) {
    lies[k] = w.lies[k] == Lies::strided ? lies_in_runs(w, k, run) : w.lies[k];
    if (w.lies[k] == Lies::strided && (lies[k] == Lies::nowhere || (k == n && lies[k] == Lies::repeated))) return false;
  }
  std::copy_n(lies, n + 1, w.lies);
  p.run = run;
  return true;
}

// The operands' places and formats; those in formats that the kernel does not know are to be converted.
class Layout {
  Call& c_;
  Pointwise& p_;
  Room room_;
  Converted* conversions_ = nullptr;
  Operand operands_[kPlaces];

 public:
  Layout(Call& c, Pointwise& p) : c_(c), p_(p), room_(c.plan) {}
  void place() {
    const int n = p_.kernel->inputs;
    for (int i = 0; i < n; ++i)
      if (c_.has(i) && (p_.kernel->used >> i & 1)) add_input(i);
    with_compute(p_.compute, [&](auto type) {
      using T = decltype(type);
      if (c_.op.types == Types::compare) return add<bool>(n, c_.result());
      if constexpr (is_parts<T>) {
        if (c_.op.pw.real_of_complex) return add<decltype(T::re)>(n, c_.result());
      }
      add<T>(n, c_.result());
    });
    for (int i = 0; i < n; ++i)
      if (p_.rounded[i] != Code::none) p_.place = room_.take(kMaxOperands * int64_t(sizeof(float)));
    merge(operands_[n]);
  }

 private:
  void add_input(int i) {
    Work& w = p_.work;
    if (p_.host >> i & 1 || p_.rounded[i] != Code::none) {
      w.code[i] = code_of(c_.impl(i).dtype.format());
      w.lies[i] = p_.host >> i & 1 ? Lies::number : Lies::strided;
      w.bytes[i] = sizeof(float);
      return;
    }
    with_compute(p_.compute, [&](auto type) { add<decltype(type)>(i, c_.operand(i)); });
  }
  // T: what the kernel has it in.
  template <class T> void add(int k, const Operand& o) {
    Work& w = p_.work;
    operands_[k] = o;
    w.lies[k] = Lies::strided;
    w.code[k] = code_of(o.format), w.bytes[k] = uint8_t(o.itemsize());
    if (with_near<T>(w.code[k], [](auto) {})) return;
    if (!conversions_) p_.conversions = conversions_ = c_.plan.list<Converted>(kPlaces);
    Operand& dense = operands_[k];
    int64_t step = 1;
    for (int d = o.ndim - 1; d >= 0; --d) dense.steps[d] = step, step *= o.lengths[d];
    const bool result = k == p_.kernel->inputs;
    Converted& x = conversions_[p_.converted++];
    x = {k, room_.take(o.count * int64_t(sizeof(T))), result ? plan_transfer(o, dense) : plan_transfer(dense, o)};
    (result ? x.copy.from : x.copy.to) = kOwn<T>;
    w.code[k] = kOwn<T>, w.bytes[k] = sizeof(T);
  }
  void merge(const Operand& out) {
    Work& w = p_.work;
    const int n = p_.kernel->inputs;
    int order[kMaxDims];  // as the result lies, the dimension of the widest steps first
    for (int d = 0; d < out.ndim; ++d) {
      int at = d;
      for (; at > 0 && out.steps[order[at - 1]] < out.steps[d] && out.lengths[d] > 1; --at) order[at] = order[at - 1];
      order[at] = d;
    }
    for (int d = 0; d < out.ndim; ++d) {
      int64_t steps[kPlaces] = {};
      for (int k = 0; k <= n; ++k)
        if (operands_[k].defined()) steps[k] = broadcast_step(operands_[k], out.ndim, order[d]) * w.bytes[k];
      w.space.add(out.lengths[order[d]], steps);
    }
    if (w.space.ndim == 0) {  // a single element
      for (int k = 0; k < kPlaces; ++k) w.space.stride[k][0] = 0;
      w.space.ndim = 1;
    }
    w.space.finish();
  }
};

}  // namespace

void plan_pointwise(Call& c, const OpKernel& kernel) {
  if (c.out[0].impl()->numel == 0) return;
  Pointwise& p = c.plan.make<run, Pointwise>();
  p = Pointwise{};
  p.kernel = &kernel;
  p.compute = c.compute;
  std::fill_n(p.rounded, kMaxOperands, Code::none);
  DY_CHECK(kernel.elements[int(c.compute)], "{}: has no kernel for these dtypes on a cuda device", c.name);
  for (int j = 0; j < kernel.params; ++j) {
    const Scalar s = c.scalar(kernel.inputs + j);
    p.work.params[j] = s.real();
    p.work.params[kMaxParams + j] = s.imag();
  }
  for (int i = 0; i < kernel.inputs; ++i)
    if (c.has(i) && c.impl(i).device().is_cpu()) p.host |= uint8_t(1u << i);
  if (c.op.types == Types::compare && c.compute == Compute::f32) round_numbers(c, p);
  Layout(c, p).place();
  p.run = 1;
  if (kernel.runs[int(c.compute)] && !find_runs(p, kGroup)) find_runs(p, kRun);
}

void add_pointwise(const char* op, const Kernel& kernel, int gradient) { Registered(op, kernel, gradient); }

}  // namespace dyadic::gpu
