// What the parts of `dyadic bench` share: timing, and rows beside the machine's measured peaks.
#pragma once
#include <string>
#include <vector>

#include "base/parallel.h"
#include "cli/command.h"

namespace dyadic::inline v1::cli {

struct Time {
  double min = 0, median = 0;  // seconds
};
struct Interrupted {};  // thrown by time_runs after Ctrl-C
// Runs f `warm` times unmeasured, then `runs` times.
Time time_runs(int warm, int runs, FunctionRef<void()> f);

enum class Peak { none, flops_f32, flops_f64, flops_bf16, bytes, given };

struct Row {
  std::string name, dtype;
  Time time;               // of one run
  double rate = 0;         // at the best time, in `unit`
  std::string unit;        // "GFLOP/s", "GB/s", "ns"
  Peak peak = Peak::none;  // what `per_second` is a share of
  double per_second = 0;   // FLOPs or bytes at the best time
  double given = 0;        // Peak::given: what it is a share of, measured beside it
  double wait = -1;        // seconds of a run in which it waited for its data, the median; -1: it takes none
  double wait_mean = 0;
};
Row flops_row(std::string name, std::string dtype, Time t, double flops, Peak peak);
Row bytes_row(std::string name, std::string dtype, Time t, double bytes);
// ns per item, `items` a run, which moves `bytes` (0: memory is not what limits it).
Row ns_row(std::string name, std::string dtype, Time t, double items, double bytes = 0);

std::vector<Row> tokenizing_rows(int runs);  // a megabyte of text, by each kind of tokenizer

// Measures the machine's peaks and the rows, prints both; an exit code.
int bench(const Common& common, const std::function<std::vector<Row>()>& rows);

extern const Command bench_train_command, bench_gpt_command, bench_ops_command, bench_overhead_command, bench_optim_command,
    bench_convert_command, bench_io_command, bench_compile_command, bench_quant_command, bench_cuda_command;

}  // namespace dyadic::inline v1::cli
