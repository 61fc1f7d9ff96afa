#include "offload/states.h"

#include "device/allocator.h"
#include "dyadic/autograd.h"
#include "offload/pages.h"
#include "offload/spill.h"
#include "tensor/absent.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kSmall = 64 << 10;  // bytes that are not worth a mapping of their own

}  // namespace

Turn::Turn(const Tensor& p, const States& states) : device_(p.device()) {
  if (!is_spilled(p)) return;
  int64_t bytes = buffer_bytes(p);
  for (auto& [name, t] : states)
    if (is_spilled(t)) bytes += buffer_bytes(t);
  ledger_add(device_, Category::workspace, 0, bytes);
  bytes_ = bytes;
}
Turn::~Turn() {
  if (bytes_) ledger_remove(device_, Category::workspace, 0, bytes_);
}

void read_ahead(const Tensor& p, const States& states) {
  if (p.is_meta()) return;
  Pages(p).read_ahead();
  for (auto& [name, t] : states)
    if (is_spilled(t)) Pages(t).read_ahead();
}

void follow(const Tensor& p, const Tensor& state) {
  if (!is_spilled(p) || is_spilled(state) || state.nbytes() < kSmall) return;
  const NoGrad guard;
  become_view(state, put_beside(p, state));
}

void let_go(const Tensor& p, const States& states) {
  if (!is_spilled(p)) return;
  for (auto& [name, t] : states) follow(p, t);
  if (p.is_meta()) return;
  Pages(p).drop();
  for (auto& [name, t] : states)
    if (is_spilled(t)) Pages(t).drop();
}

}  // namespace dyadic::inline v1::offload
