#include "offload/states.h"

#include "dyadic/autograd.h"
#include "offload/pages.h"
#include "offload/spill.h"
#include "tensor/absent.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kSmall = 64 << 10;  // bytes that are not worth a mapping of their own

bool follows(const Tensor& p, int64_t numel, DType dtype) {
  return is_spilled(p) && numel * int64_t(dtype.bits()) / 8 >= kSmall;
}
int64_t on_disk(const Tensor& p, const States& states) {
  if (!is_spilled(p)) return 0;
  int64_t bytes = buffer_bytes(p);
  for (auto& [name, t] : states)
    if (is_spilled(t)) bytes += buffer_bytes(t);
  return bytes;
}

}  // namespace

Turn::Turn(const Tensor& p, const States& states) : charge_(p.device(), Category::workspace, on_disk(p, states)) {}

void read_ahead(const Tensor& p, const States& states) {
  if (p.is_meta()) return;
  Pages(p).read_ahead();
  for (auto& [name, t] : states)
    if (is_spilled(t)) Pages(t).read_ahead();
}

Category category_of_state(const Tensor& p, int64_t numel, DType dtype) {
  return follows(p, numel, dtype) ? Category::workspace : Category::optimizer;
}

void follow(const Tensor& p, const Tensor& state) {
  if (!follows(p, state.numel(), state.dtype()) || is_spilled(state)) return;
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
