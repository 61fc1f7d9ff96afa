#include "corridor/batching.h"
#include "device/backend.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::to_device_op {
namespace {

void infer(Call& c) {
  infer_like_first(c);
  c.spec[0].dtype = c[arg::self].dtype();
  c.spec[0].device = c[arg::device];
}
struct Moving {
  Device to, from;
  int64_t bytes;
};
void run(const Moving& p, const Pointers& at) { copy_bytes(p.to, at.out[0], p.from, at.in[0], p.bytes); }
void plan(Call& c) {
  const Tensor& self = c[arg::self];
  c.plan.set<run>(Moving{c.spec[0].device, self.device(), self.numel() * self.itemsize()});
}
void backward(Grad& g) { g.set(arg::self, g.g().to(g.in_meta(arg::self).device)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "to_device(Tensor self, Device device) -> Tensor",
    .doc = "The same bytes on another device; of a dtype that is not blocked.",
    .internal = true,
    .samples = "to_device(randn(2, 3), cpu)",
    .skip =
        "cost: a copy counts as bytes\nmeta: it has no values to bring\nreplay: within one device nothing is moved\n"
        "values: within one device nothing is moved",
    .infer = infer,
    .backward = backward,
    .moves = true,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::to_device_op
