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
    EXPECT_LE(foreseen.low, measured.high) << "bytes at the worst moment";
    EXPECT_GE(foreseen.high, measured.high) << "bytes at the worst moment";
  }
}

// An op that computes counts its FLOPs. One whose results are all values of its inputs and numbers, zeros or
// ones, only moves them.
void check_cost(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    if (c.kind != Case::Kind::plain) continue;
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    Counting::clear();
    Outcome result;
    {
      Counting counting;
      result = run(c, inputs);
    }
    if (result.failed() || inputs.empty()) continue;
    const double flops = Counting::flops();
    double bytes = 0;
    for (const OpCount& count : Counting::counts()) bytes += count.bytes;
    Counting::clear();
    std::unordered_set<double> known = {0, 1};
    for (const Value& v : c.sample.args) known.insert(v.real);
    for (const Tensor& t : inputs)
      for (double v : (t.dtype().is_complex() ? view_as_real(t) : t).to_vector()) known.insert(v);
    bool moved = true;
    for (const Tensor& t : result.out)
      if (t.defined())
        for (double v : t.to_vector()) moved &= known.count(v) > 0;
    EXPECT_TRUE(moved || flops > 0) << "it computes and counts no FLOPs";
    EXPECT_TRUE(moved || bytes > 0) << "it counts no bytes";
  }
}

[[maybe_unused]] const bool kAdded = add_check({"meta", {"f32", "bf16"}, {Layout::contiguous}, always, check_meta, kOnce}) &&
                                     add_check({"cost", {"f32"}, {Layout::contiguous}, always, check_cost, kOnce});

}  // namespace
}  // namespace dyadic::op_suite
