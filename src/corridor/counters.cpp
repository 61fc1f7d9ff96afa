#include "corridor/counters.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"

namespace dyadic::inline v1 {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, OpCount> rows;
};
Counts& all_counts() {
  static Counts* t = new Counts;
  return *t;
}

void count_work(const char* name, DType dtype, double flops, double bytes) {
  Counts& t = all_counts();
  std::lock_guard lock(t.mutex);
  OpCount& row = t.rows[{name, dtype.name()}];
  row.op = name;
  row.dtype = dtype;
  ++row.calls;
  row.flops += flops;
  row.bytes += bytes;
}

void count_call(const Call& call) {
  if (call.op.kind == OpKind::view) return;
  const Work w = work_of(call);
  count_work(call.name, w.dtype, w.flops, w.bytes);
}

[[gnu::constructor]] void install() { g_interceptors[int(Stage::counting)] = {.modes = kCounting, .observe = count_call}; }

}  // namespace

Work work_of(const Call& call) {
  const OpDef& op = call.op;
  DType seen;
  double bytes = 0;
  for_each_tensor(call.args, call.nargs, [&](const Tensor& t, int k) {
    DType d = t.dtype();
    bytes += double(t.nbytes()) * (op.writes & in(std::min(k, 7)) ? 2 : 1);
    if (d.is_scaled()) d = f32;  // what the kernel computes in
    if ((d.is_floating_point() || d.is_complex()) && !(t.impl()->flags & kNumber)) seen = seen ? seen : d;
  });
  double outputs = 0;
  for (int i = 0; i < call.nout; ++i)
    if (call.out[i].defined()) outputs += double(call.out[i].numel()), bytes += double(call.out[i].nbytes());
  const int each = seen && seen.is_complex() ? op.pw.complex_flops : op.pw.flops;
  const double flops = op.kind == OpKind::pointwise ? each * outputs : op.flops ? op.flops(call) : 0;
  return {seen ? seen : call.out[0].dtype(), flops, bytes};
}

Counting::Counting() : before_(t_modes) { t_modes |= kCounting; }
Counting::~Counting() { t_modes = (t_modes & ~kCounting) | (before_ & kCounting); }
std::vector<OpCount> Counting::counts() {
  Counts& t = all_counts();
  std::lock_guard lock(t.mutex);
  std::vector<OpCount> out;
  for (auto& [key, row] : t.rows) out.push_back(row);
  return out;
}
double Counting::flops() {
  double sum = 0;
  for (const OpCount& c : counts()) sum += c.flops;
  return sum;
}
std::string Counting::table() {
  std::vector<OpCount> rows = counts();
  std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.flops > b.flops; });
  dyadic::Table t({"op", "dtype", "calls", "FLOPs", "bytes"});
  for (const OpCount& c : rows)
    t.row({c.op, c.dtype.name(), std::to_string(c.calls), human_count(c.flops), human_bytes(int64_t(c.bytes))});
  return t.str();
}
void Counting::clear() {
  std::lock_guard lock(all_counts().mutex);
  all_counts().rows.clear();
}

}  // namespace dyadic::inline v1
