// dyadic bench optim: one step of AdamW, with states in f32 and in 8 bits.
#include <memory>

#include "cli/bench.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::cli {
namespace {

struct OptimOptions {
  int64_t size = 50'000'000;
  int steps = 7;
};

Row adamw_row(DType state, const OptimOptions& o) {
  Tensor p = nn::make_parameter({o.size}, {f32, cpu});
  nn::init::normal_(p, 0, 0.02);
  p.set_grad(randn({o.size}));
  optim::AdamW optimizer({{"p", p}}, {.state = state});
  Time t = time_runs(2, o.steps, [&] { optimizer.step(); });
  double bytes = 12.0 * double(o.size);  // the parameter read and written, the gradient read; the states read and written:
  for (auto& [name, s] : optimizer.state_dict()) bytes += 2.0 * double(s.nbytes());
  return ns_row("adamw", state == f32 ? "f32" : "dynamic8", t, double(o.size), bytes);
}

Run setup(Options& options) {
  auto o = std::make_shared<OptimOptions>();
  options.value("--size", o->size, "N", "parameters (default: 50 million)", at_least(1))
      .value("--steps", o->steps, "N", "steps to time (default: 7)", at_least(1));
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (DType state : {f32, dynamic8}) {
        rows.push_back(adamw_row(state, *o));
        empty_cache();
      }
      return rows;
    });
  };
}

}  // namespace

const Command bench_optim_command = {"optim", "ns per parameter of an optimizer's step", "dyadic bench optim --size 10000000",
                                     setup};

}  // namespace dyadic::inline v1::cli
