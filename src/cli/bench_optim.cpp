// dyadic bench optim: one step of an optimizer, with states in f32, bf16 and 8 bits.
#include <memory>

#include "cli/bench.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::cli {
namespace {

struct OptimOptions {
  int64_t size = 50'000'000;
  int steps = 7;
  std::string optimizer = "AdamW";
};

Row optimizer_row(DType state, const OptimOptions& o) {
  Tensor p = nn::make_parameter({o.size}, {f32, cpu});
  nn::init::normal_(p, 0, 0.02);
  p.set_grad(randn({o.size}));
  optim::Options options{{"state", state}};
  if (o.optimizer == "SGD") options.set("momentum", 0.9);
  optim::Optimizer optimizer(o.optimizer, {{"p", p}}, options);
  Time t = time_runs(2, o.steps, [&] { optimizer.step(); });
  double bytes = 12.0 * double(o.size);  // the parameter read and written, the gradient read; the states read and written:
  for (auto& [name, s] : optimizer.state_dict()) bytes += 2.0 * double(s.nbytes());
  std::string name = o.optimizer;
  for (char& c : name) c = char(std::tolower(c));
  return ns_row(name, state == dynamic8 ? "dynamic8" : state.name(), t, double(o.size), bytes);
}

Run setup_bench_optim(Options& options) {
  auto o = std::make_shared<OptimOptions>();
  options.value("--size", o->size, "N", "parameters (default: 50 million)", at_least(1))
      .value("--steps", o->steps, "N", "steps to time (default: 7)", at_least(1))
      .value("--optimizer", o->optimizer, "NAME", "which one (default: AdamW)",
             [](const std::string& name) { optim::optimizer_def(name); });
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (DType state : {f32, bf16, dynamic8}) {
        rows.push_back(optimizer_row(state, *o));
        empty_cache();
      }
      return rows;
    });
  };
}

}  // namespace

const Command bench_optim_command = {"optim", "ns per parameter of an optimizer's step", "dyadic bench optim --size 10000000",
                                     setup_bench_optim};

}  // namespace dyadic::inline v1::cli
