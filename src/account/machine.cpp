#include "account/machine.h"

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "account/peak_kernel.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "corridor/call.h"
#include "corridor/counters.h"
#include "device/limit.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::account {
namespace {

// The value of `key:` in a file of /proc, trimmed; empty if it is not there.
std::string proc_value(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) {
      size_t from = line.find(':');
      if (from == line.npos) continue;
      from = line.find_first_not_of(" \t", from + 1);
      return from == line.npos ? "" : line.substr(from);
    }
  return "";
}
int64_t kilobytes(const char* file, std::string_view key) {
  std::string v = proc_value(file, key);
  return v.empty() ? -1 : std::stoll(v) * 1024;
}

// Best rate of f() in about `seconds`, as work per second.
template <class F> double best_rate(double work, double seconds, F&& f) {
  f();
  double best = 1e30;
  for (double begin = seconds_now(); seconds_now() - begin < seconds;) {
    double t = seconds_now();
    f();
    best = std::min(best, seconds_now() - t);
  }
  return work / best;
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo m;
  m.cpu = proc_value("/proc/cpuinfo", "model name");
  utsname u{};
  if (uname(&u) == 0) m.os = std::string(u.sysname) + " " + u.release + " " + u.machine;
  m.isa = isa_name();
  if (has_avx512_bf16()) m.isa += " bf16";
  m.compiler = "g++ " __VERSION__;
#ifdef __clang__
  m.compiler = __VERSION__;
#endif
  m.cores = int(sysconf(_SC_NPROCESSORS_ONLN));
  m.threads = num_threads();
  m.memory = std::max<int64_t>(kilobytes("/proc/meminfo", "MemTotal"), 0);
  return m;
}

Peaks measure_peaks(double seconds) {
  NoGrad guard;
  Peaks p;
  constexpr int64_t n = 1024, kRounds = 20'000;  // rounds: about 0.1 ms
  const int pieces = num_threads();
  float sink[3] = {0.5f, 0.25f, 0};
  const double work = pieces * peak_kernel().multiply_add(kRounds, sink);
  p.flops_f32 = best_rate(work, 0.1 * seconds, [&] {
    parallel_each(pieces, [](int64_t) {
      float own[3] = {0.5f, 0.25f, 0};
      peak_kernel().multiply_add(kRounds, own);
    });
  });
  Tensor a = ones({n, n}), b = ones({n, n});
  a = a.to(bf16);
  b = b.to(bf16);
  p.flops_bf16 = best_rate(2.0 * n * n * n, 0.3 * seconds, [&] { matmul(a, b); });
  constexpr int64_t kSide = 256;
  const Tensor left = ones({kSide, kSide}, f32), right = ones({kSide, kSide}, f32);
  p.product_f32 = best_rate(2.0 * kSide * kSide * kSide, 0.25 * seconds, [&] { matmul(left, right); });
  const Tensor z = full({pieces * (16 << 10)}, 0.5, f32);
  p.function_f32 = best_rate(double(z.numel()) * op_def(Op::tanh_).pw.flops, 0.1 * seconds, [&] { tanh(z); });
  constexpr int64_t kBytes = 64 << 20, kPiece = 4 << 20, kCached = 128 << 10;
  Tensor from = zeros({kBytes}, u8), to = zeros({kBytes}, u8);
  char *s = from.data<char>(), *d = to.data<char>();
  int64_t at = 0;
  p.bytes_per_s = best_rate(2.0 * kPiece, 0.2 * seconds, [&] {
    at = (at + kPiece) % kBytes;
    parallel_for(kPiece / 4096, 64,
                 [&](int64_t x, int64_t y) { std::memcpy(d + at + x * 4096, s + at + x * 4096, size_t(y - x) * 4096); });
  });
  const int64_t copies = std::min<int64_t>(pieces, kBytes / kCached);
  p.cached_bytes_per_s = best_rate(16.0 * kCached * double(copies), 0.05 * seconds, [&] {
    parallel_each(copies, [&](int64_t k) {
      for (int round = 0; round < 8; ++round) std::memcpy(d + k * kCached, s + k * kCached, kCached);
    });
  });
  return p;
}

const Peaks& peaks() {
  static const Peaks p = [] {
    const WithoutLimit scratch;
    const ModeScope plain(0, ~0u);  // an Observer would ask for what is being measured
    const Peaks measured = measure_peaks(0.1);
    empty_cache();
    return measured;
  }();
  return p;
}

int64_t resident_bytes() { return kilobytes("/proc/self/status", "VmRSS"); }
int64_t resident_high_water() { return kilobytes("/proc/self/status", "VmHWM"); }
bool reset_resident_high_water() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return bool(out);
}

SmallPages::SmallPages() : before_(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0)) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
SmallPages::~SmallPages() { prctl(PR_SET_THP_DISABLE, before_ > 0, 0, 0, 0); }

}  // namespace dyadic::inline v1::account
