#include "offload/states.h"

#include "dyadic/autograd.h"
#include "offload/pages.h"
#include "offload/spill.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kSmall = 64 << 10;  // bytes that are not worth a mapping of their own

}  // namespace

void read_ahead(const Tensor& p, const States& states) {
  Pages(p).read_ahead();
  for (auto& [name, t] : states)
    if (is_spilled(t)) Pages(t).read_ahead();
}

void let_go(const Tensor& p, const States& states) {
  const std::shared_ptr<Spill> file = spill_of(p);
  if (!file) return;
  const NoGrad guard;
  Pages(p).drop();
  for (auto& [name, t] : states) {
    if (!is_spilled(t) && t.nbytes() >= kSmall) become_view(t, file->put(t, true));
    if (is_spilled(t)) Pages(t).drop();
  }
}

}  // namespace dyadic::inline v1::offload
