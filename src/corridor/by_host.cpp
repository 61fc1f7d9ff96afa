#include "corridor/by_host.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "corridor/run.h"
#include "dyadic/cuda.h"
#include "loops/blocked.h"

namespace dyadic::inline v1 {
namespace {

constinit thread_local bool t_fallback = false;

struct Calls {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
};
Calls& calls() {
  static Calls* c = new Calls;
  return *c;
}
void count(const Call& c) {
  const std::lock_guard lock(calls().mutex);
  ++calls().counts[c.name];
}

}  // namespace

CpuFallback::CpuFallback(bool on) : before_(std::exchange(t_fallback, on)) {}
CpuFallback::~CpuFallback() { t_fallback = before_; }
bool goes_by_host() { return t_fallback; }
std::map<std::string, int64_t> cpu_fallback_calls() {
  const std::lock_guard lock(calls().mutex);
  return calls().counts;
}

void execute_by_host(Call& c, bool allocate) {
  const Device device = c.spec[0].device;
  DY_CHECK(t_fallback,
           "{}: there is no kernel for it on {} (dtype {}); within torch.cuda.cpu_fallback() it runs on the host, or bring its "
           "operands there with .cpu()",
           c.name, device.name(), c.spec[0].dtype ? c.spec[0].dtype.name() : "none");
  count(c);
  CategoryScope scope(Category::workspace);
  Arg args[kMaxArgs];
  Tensor held[kMaxArgs], results[kMaxOutputs];
  std::vector<Tensor> lists[kMaxArgs];
  std::copy(c.args, c.args + c.nargs, args);
  for (int i = 0; i < c.nargs; ++i) {
    if (args[i].kind == Arg::Kind::tensor) {
      args[i].tensor = &(held[i] = brought(*args[i].tensor, cpu));
    } else if (args[i].kind == Arg::Kind::tensors) {
      for (uint32_t k = 0; k < args[i].n; ++k) lists[i].push_back(brought(args[i].tensor[k], cpu));
      args[i].tensor = lists[i].data();
    }
  }
  Call host(c.id, c.op, args, c.nargs, results);
  host.nout = c.nout, host.compute = c.compute;
  for (int j = 0; j < c.nout; ++j) {
    host.spec[j] = c.spec[j];
    host.spec[j].device = cpu;
    if (!allocate && c.out[j].defined()) results[j] = make_tensor(c.out[j].sizes(), c.out[j].dtype(), cpu);
  }
  execute(host, allocate);
  int k = 0;
  for (int i = 0; i < c.nargs; ++i) {  // what it has overwritten
    if (args[i].kind == Arg::Kind::tensor && (c.op.writes & in(std::min(k, 7)))) assign(*c.args[i].tensor, held[i]);
    for (size_t n = 0; n < lists[i].size(); ++n)
      if (c.op.writes & in(std::min(k + int(n), 7))) assign(c.args[i].tensor[n], lists[i][n]);
    k += args[i].kind == Arg::Kind::tensors ? int(args[i].n) : args[i].kind <= Arg::Kind::tensor ? 1 : 0;
  }
  CategoryScope fresh(Category::temporary);
  for (int j = 0; j < c.nout; ++j) {
    if (!results[j].defined()) continue;
    c.spec[j].dtype = host.spec[j].dtype;
    if (allocate)
      c.out[j] = brought(results[j], device);
    else
      assign(c.out[j], results[j]);
  }
}

}  // namespace dyadic::inline v1
