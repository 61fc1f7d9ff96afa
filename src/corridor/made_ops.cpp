#include "corridor/made_ops.h"

#include <atomic>
#include <mutex>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

constinit std::atomic<MadeOp*> g_made[kMostMade];
constinit int g_count = 0;
std::mutex& mutex() {
  static std::mutex* m = new std::mutex;
  return *m;
}

}  // namespace

Op add_op(std::unique_ptr<MadeOp> op) {
  op->def.sig = op->sig.c_str();
  op->def.doc = op->doc.c_str();
  const std::lock_guard lock(mutex());
  DY_ASSERT(g_count < kMostMade);
  g_made[g_count].store(op.release(), std::memory_order_release);
  return Op(kOps + g_count++);
}
const MadeOp& made_op(Op op) { return *g_made[int(op) - kOps].load(std::memory_order_acquire); }

}  // namespace dyadic::inline v1
