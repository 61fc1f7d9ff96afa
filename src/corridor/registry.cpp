// Records, once; kernels in columns, one per instruction set, of which the running machine's is picked before main, and the
// plain ones they are held to. A column is found by the names of files (tools/generate/tables.py).
#include <atomic>

#include "base/parallel.h"
#include "corridor/batching.h"
#include "corridor/call.h"
#include "corridor/family.h"
#include "corridor/made_ops.h"
#include "device/backend.h"
#include "op_table.inc"

namespace dyadic::inline v1 {
namespace {

constinit int g_column = int(Column::reference);  // replaced below

// Before ordinary static initialization of any file.
[[gnu::constructor(101)]] void pick() {
  __builtin_cpu_init();  // isa() asks what the compiler's own constructor, of the same priority, would have found
  detail::g_kernels = kTables[g_column = int(isa())];
}

}  // namespace

constinit const OpDef* const* const detail::g_records = k_records;
constinit const Kernel* const* detail::g_kernels = k_reference;

const OpDef& detail::made_def(Op op) { return made_op(op).def; }
const Kernel* detail::made_kernel(Op op) { return made_op(op).kernel[g_column]; }
const char* op_name(Op op) { return is_made(op) ? made_op(op).name.c_str() : kNames[int(op)]; }
const char* op_family(Op op) { return kFamilies[int(op)]; }
const Kernel* column_kernel(int column, Op op) {
  if (column < int(Column::reference) && !is_built(Isa(column))) return nullptr;
  return is_made(op) ? made_op(op).kernel[column] : kTables[column][int(op)];
}
const Kernel* device_kernel(Op op) {
  static const Kernel absent;
  static std::atomic<const Kernel*> known[kOps + kMostMade];
  std::atomic<const Kernel*>& slot = known[int(op)];
  const Kernel* kernel = slot.load(std::memory_order_acquire);
  if (!kernel) {
    const bool gradient = is_made(op) && made_op(op).input >= 0;
    kernel = gradient ? backend().kernel(op_name(made_op(op).of), made_op(op).input) : backend().kernel(op_name(op), -1);
    slot.store(kernel ? kernel : &absent, std::memory_order_release);
  }
  return kernel == &absent ? nullptr : kernel;
}
const Batching* batching_of(Op op) { return is_made(op) ? nullptr : kBatching[int(op)]; }
const Kernel* reference_kernel(Op op) { return column_kernel(int(Column::reference), op); }

}  // namespace dyadic::inline v1
