// A plan runs again on other memory, gives the same bits, and allocates nothing while it runs.
#include <algorithm>
#include <cstring>

#include "corridor/run.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

struct Memory {  // of one run: copies of the inputs, new results, workspace, at addresses of their own
  std::vector<std::vector<char>> in, out;
  std::vector<char> workspace;
  std::vector<void*> in_at, out_at;
  static void* aligned(std::vector<char>& bytes, size_t n) {
    bytes.assign(n + 128, 0);
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
  }
  explicit Memory(const Call& c) {
    const int n = for_each_tensor(c.args, c.nargs, [](const Tensor&, int) {});
    in.resize(size_t(n)), in_at.resize(size_t(n));
    for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
      const size_t size = size_t(t.numel() * t.dtype().itemsize());
      in_at[size_t(k)] = aligned(in[size_t(k)], size);
      std::memcpy(in_at[size_t(k)], t.impl()->data(), size);
    });
    out.resize(size_t(c.nout)), out_at.resize(size_t(c.nout));
    for (int j = 0; j < c.nout; ++j)
      if (c.out[j].defined()) out_at[size_t(j)] = aligned(out[size_t(j)], size_t(c.out[j].nbytes()));
    workspace.resize(size_t(c.plan.workspace) + 128);
  }
  void run(const Call& c, Draw draw) {
    Pointers at{in_at.data(), out_at.data(),
                reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64), draw};
    const int64_t before = memory_stats(cpu).allocations;
    c.plan.run(at);
    EXPECT_EQ(memory_stats(cpu).allocations, before) << "it allocated while it ran";
  }
};

// The call as the corridor makes it, up to its plan.
void check_replay(Op op, DType dtype, Layout) {
  NoGrad guard;
  const OpDef& def = op_def(op);
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    const Outcome usual = run(c, inputs);
    if (usual.failed()) continue;
    CallFrame frame(c.sample, inputs);
    std::vector<Arg> args = frame.arguments();
    Tensor out[kMaxOutputs];
    Call call(op, def, args.data(), int(args.size()), out);
    if (goes_by_parts(def, call.name, call.args, call.nargs)) continue;
    infer(call);
    if (std::any_of(call.spec, call.spec + call.nout, [](const Spec& s) { return s.dtype && s.dtype.is_blocked(); }))
      continue;  // the corridor encodes those
    for (int j = 0; j < call.nout; ++j)
      if (call.spec[j].dtype) out[j] = make_tensor(call.spec[j].shape(), call.spec[j].dtype, cpu);
    call.kernel->plan(call);
    if (!call.plan.runs()) continue;
    const Draw draw{7, 11};
    Memory first(call), second(call);
    compared();
    first.run(call, draw);
    second.run(call, draw);
    for (int j = 0; j < call.nout; ++j) {
      if (!out[j].defined()) continue;
      const size_t size = size_t(out[j].nbytes());
      EXPECT_EQ(std::memcmp(first.out_at[size_t(j)], second.out_at[size_t(j)], size), 0) << "output " << j;
      if (def.random || !usual.out[size_t(j)].is_contiguous()) continue;
      EXPECT_EQ(std::memcmp(first.out_at[size_t(j)], usual.out[size_t(j)].data_ptr(), size), 0)
          << "output " << j << " of a call";
    }
  }
}

bool has_plan(Op op, const OpDef& def) {
  return def.kind != OpKind::view && op_kernel(op) && op_kernel(op)->plan && !def.variant;
}
[[maybe_unused]] const bool kReplayAdded = add_check({"replay", {"f32"}, {Layout::contiguous}, has_plan, check_replay});

}  // namespace
}  // namespace dyadic::op_suite
