// What is known without running: the meta device predicts shapes, dtypes and bytes; records state what an op costs.
#include <algorithm>
#include <unordered_set>

#include "dyadic/counters.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

// Numbers that are made into tensors live on cpu in either run. Where there are any, the worst moments of the two devices need
// not be one, and the sum of their peaks is an upper bound.
struct Bytes {
  int64_t live = 0, low = 0, high = 0;
};
template <class F> Bytes bytes_of(F&& f) {
  const int64_t cpu_before = memory_stats(cpu).total, meta_before = memory_stats(meta).total;
  reset_peak_memory_stats(cpu);
  reset_peak_memory_stats(meta);
  const auto result = f();
  const MemoryStats c = memory_stats(cpu), m = memory_stats(meta);
  const int64_t on_cpu = c.total_peak - cpu_before, on_meta = m.total_peak - meta_before;
  return {c.total + m.total - cpu_before - meta_before, std::max(on_cpu, on_meta), on_cpu + on_meta};
}

// Shape, dtype and device of the results, and the bytes the ledger sees, at the end and at the worst moment, as on cpu.
void check_meta(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype), shadows = each(inputs, [](const Tensor& t) { return t.to(meta); });
    Outcome real = run(c, inputs), predicted = run(c, shadows);
    if (real.failed()) continue;  // what depends on values may fail on cpu alone
    ASSERT_FALSE(predicted.failed()) << predicted.error;
    for (size_t j = 0; j < real.out.size(); ++j) {
      ASSERT_EQ(real.out[j].defined(), predicted.out[j].defined());
      if (!real.out[j].defined()) continue;
      EXPECT_EQ(describe(predicted.out[j]), describe(real.out[j]));
      EXPECT_TRUE(inputs.empty() || predicted.out[j].is_meta());
    }
    real = predicted = {};
    const Bytes measured = bytes_of([&] { return run(c, inputs); }), foreseen = bytes_of([&] { return run(c, shadows); });
    EXPECT_EQ(foreseen.live, measured.live) << "bytes of the results";
    compared();
    EXPECT_LE(foreseen.low, measured.high) << "bytes at the worst moment";
    EXPECT_GE(foreseen.high, measured.high) << "bytes at the worst moment";
  }
}

struct Count {
  double flops = 0, bytes = 0;
};
// What f() counts.
template <class F> Count counted(F&& f) {
  Counting::clear();
  Count all;
  {
    Counting counting;
    f();
  }
  for (const OpCount& count : Counting::counts()) all.flops += count.flops, all.bytes += count.bytes;
  Counting::clear();
  return all;
}

// What only moves gives values that were there: of the call's tensors and numbers, zeros, ones.
class Known {
  std::unordered_set<double> values_ = {0, 1, -1};

 public:
  explicit Known(const Sample& s) {
    for (const Value& v : s.args) values_.insert(v.real), values_.insert(-v.real);
  }
  void add(const Tensor& t) {
    for (double v : (t.dtype().is_complex() ? view_as_real(t) : t).to_vector()) values_.insert(v), values_.insert(-v);
  }
  bool all(const std::vector<Tensor>& tensors) const {
    bool known = true;
    for (const Tensor& t : tensors)
      if (t.defined())
        for (double v : (t.dtype().is_complex() ? view_as_real(t) : t).to_vector()) known &= values_.count(v) > 0;
    return known;
  }
};

// An op that computes counts its FLOPs, and so does its gradient.
void check_cost(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    if (c.kind != Case::Kind::plain) continue;
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    Outcome result;
    const Count count = counted([&] { result = run(c, inputs); });
    if (result.failed() || inputs.empty()) continue;
    Known known(c.sample);
    for (const Tensor& t : inputs) known.add(t);
    const bool moved = known.all(result.out);
    EXPECT_TRUE(moved || count.flops > 0) << "it computes and counts no FLOPs";
    EXPECT_TRUE(moved || count.bytes > 0) << "it counts no bytes";
    compared();
  }
}
void check_backward_cost(Op op, DType dtype, Layout) {
  for (const Case& c : cases(op)) {
    if (c.kind != Case::Kind::plain) continue;
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    Outcome result;
    const Count forward = counted([&] { result = run(c, inputs); });
    if (result.failed() || inputs.empty() || forward.flops == 0) continue;
    std::vector<Tensor> found;
    const Count both = counted([&] { found = gradients(c, inputs); });
    Known known(c.sample);
    for (const Tensor& t : inputs) known.add(t);
    for (size_t j = 0; j < result.out.size(); ++j)
      if (result.out[j].defined())
        for (double v : normal_upstream(j, result.out[j].numel())) known.add(full({}, v, f32));
    if (found.empty() || known.all(found)) continue;
    EXPECT_GT(both.flops, forward.flops) << "its gradient computes and counts no FLOPs";
    EXPECT_GT(both.bytes, forward.bytes) << "its gradient counts no bytes";
    compared();
  }
}

[[maybe_unused]] const bool kAccountingAdded =
    add_check({"meta", {"f32", "bf16"}, {Layout::contiguous}, always, check_meta, kOnce}) &&
    add_check({"cost", {"f32"}, {Layout::contiguous}, always, check_cost, kOnce}) &&
    add_check({"backward_cost",
               {"f32"},
               {Layout::contiguous},
               [](Op, const OpDef& def) { return differentiable(def); },
               check_backward_cost,
               kOnce});

}  // namespace
}  // namespace dyadic::op_suite
