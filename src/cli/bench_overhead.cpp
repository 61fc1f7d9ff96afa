// dyadic bench overhead: what a call costs beside its arithmetic, on tensors of four elements.
#include "cli/bench.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int kCalls = 20'000, kChains = 50, kOverheadRuns = 9;

std::vector<Row> measure_overhead() {
  Tensor a = rand({4}), b = rand({4}), leaf = rand({4}).requires_grad_();
  std::vector<Row> rows;
  {
    NoGrad guard;
    Time t = time_runs(1, kOverheadRuns, [&] {
      for (int i = 0; i < kCalls; ++i) add(a, b);
    });
    rows.push_back(ns_row("add", "f32", t, kCalls));
  }
  Time t = time_runs(1, kOverheadRuns, [&] {
    for (int i = 0; i < kCalls; ++i) add(leaf, b);
  });
  rows.push_back(ns_row("add_recording", "f32", t, kCalls));
  t = time_runs(1, kOverheadRuns, [&] {
    for (int i = 0; i < kChains; ++i) {
      Tensor x = leaf;
      for (int k = 0; k < 100; ++k) x = x * 1.01;
      sum(x).backward();
    }
  });
  rows.push_back(ns_row("chain100", "f32", t, 100 * kChains));
  return rows;
}

Run setup_bench_overhead(Options&) {
  return [](const Common& common) { return bench(common, measure_overhead); };
}

}  // namespace

const Command bench_overhead_command = {"overhead", "ns per call: an add, one that is recorded, 100 ops forward and backward",
                                        "dyadic bench overhead --json", setup_bench_overhead};

}  // namespace dyadic::inline v1::cli
