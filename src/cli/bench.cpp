// dyadic bench: how fast this build is here, each figure beside what the machine can do.
#include "cli/bench.h"

#include <algorithm>
#include <cmath>

#include "account/machine.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/json.h"
#include "dyadic/device.h"
#include "dyadic/interrupt.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr const Command* kParts[] = {&bench_train_command, &bench_gpt_command,     &bench_ops_command, &bench_overhead_command,
                                     &bench_optim_command, &bench_convert_command, &bench_io_command,  &bench_compile_command,
                                     &bench_quant_command, &bench_cuda_command};

double share(const Row& r, const account::Peaks& p) {
  switch (r.peak) {
    case Peak::flops_f32:
      return r.per_second / p.flops_f32;
    case Peak::flops_f64:  // a vector holds half as many
      return r.per_second / (p.flops_f32 / 2);
    case Peak::flops_bf16:
      return r.per_second / p.flops_bf16;
    case Peak::bytes:
      return r.per_second / p.bytes_per_s;
    case Peak::given:
      return r.per_second / r.given;
    default:
      return NAN;
  }
}

Json document(const std::vector<Row>& rows, const account::Peaks& p) {
  Json out = {{"machine",
               {{"flops_peak", p.flops_f32},
                {"flops_peak_bf16", p.flops_bf16},
                {"bytes_per_s_peak", p.bytes_per_s},
                {"isa", account::machine_info().isa},
                {"threads", num_threads()}}},
              {"rows", Json::array()}};
  for (const Row& r : rows) {
    out["rows"].push_back({{"case", r.name},
                           {"dtype", r.dtype},
                           {"threads", num_threads()},
                           {"ms_min", r.time.min * 1e3},
                           {"ms_median", r.time.median * 1e3},
                           {"rate", r.rate},
                           {"unit", r.unit},
                           {"peak_share", share(r, p)}});
    if (r.wait < 0) continue;
    out["rows"].back()["wait_ms"] = r.wait * 1e3;
    out["rows"].back()["wait_ms_mean"] = r.wait_mean * 1e3;
  }
  return out;
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", seconds * 1e3); }

std::string table(const std::vector<Row>& rows, const account::Peaks& p) {
  const bool waits = std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.wait >= 0; });
  std::vector<std::string> head{"case", "dtype", "ms, best", "ms, median", "rate", "", "of the peak"};
  if (waits) head.push_back("ms, waiting");
  Table t(head, {Align::left, Align::left, Align::right, Align::right, Align::right, Align::left, Align::right, Align::right});
  for (const Row& r : rows) {
    double s = share(r, p);
    t.row({r.name, r.dtype, milliseconds(r.time.min), milliseconds(r.time.median), fmt::format("{:.4g}", r.rate), r.unit,
           std::isnan(s) ? "" : fmt::format("{:.0f} %", 100 * s), r.wait >= 0 ? fmt::format("{:.3f}", r.wait * 1e3) : ""});
  }
  return fmt::format("{}\n{} threads, {}; measured peaks: f32 {:.0f}, bf16 {:.0f} GFLOP/s; {:.1f} GB/s\n", t.str(),
                     num_threads(), account::machine_info().isa, p.flops_f32 / 1e9, p.flops_bf16 / 1e9, p.bytes_per_s / 1e9);
}

}  // namespace

// The machine's speed moves within minutes on a shared host: probed on both sides of the work, the better one counts.
int bench(const Common& common, const std::function<std::vector<Row>()>& rows_of) {
  install_interrupt_handler();
  account::Peaks p = account::measure_peaks();
  empty_cache();
  std::vector<Row> rows;
  try {
    rows = rows_of();
  } catch (const Interrupted&) { return kInterrupted; }
  empty_cache();
  account::Peaks after = account::measure_peaks();
  p.flops_f32 = std::max(p.flops_f32, after.flops_f32);
  p.flops_bf16 = std::max(p.flops_bf16, after.flops_bf16);
  p.bytes_per_s = std::max(p.bytes_per_s, after.bytes_per_s);
  print(common.json ? json_text(document(rows, p)) : table(rows, p));
  return kDone;
}

Time time_runs(int warm, int runs, FunctionRef<void()> f) {
  std::vector<double> times;
  for (int i = -warm; i < runs; ++i) {
    if (interrupted()) throw Interrupted{};
    double begin = seconds_now();
    f();
    if (i >= 0) times.push_back(seconds_now() - begin);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

Row flops_row(std::string name, std::string dtype, Time t, double flops, Peak peak) {
  return {std::move(name), std::move(dtype), t, flops / t.min / 1e9, "GFLOP/s", peak, flops / t.min};
}
Row bytes_row(std::string name, std::string dtype, Time t, double bytes) {
  return {std::move(name), std::move(dtype), t, bytes / t.min / 1e9, "GB/s", Peak::bytes, bytes / t.min};
}
Row ns_row(std::string name, std::string dtype, Time t, double items, double bytes) {
  Peak peak = bytes > 0 ? Peak::bytes : Peak::none;
  return {std::move(name), std::move(dtype), t, t.min * 1e9 / items, "ns", peak, bytes / t.min};
}

extern const Command bench_command;
const Command bench_command = {"bench",
                               "measure speed: training steps, ops, call overhead, optimizers, language models in each format",
                               "dyadic bench gpt --preset char --precision bf16", nullptr, kParts};

}  // namespace dyadic::inline v1::cli
