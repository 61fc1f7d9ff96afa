// 8-bit states at the sizes bitsandbytes tests: 1024 x {32, 1024, 4097}, 50 steps, each within 6e-5 of the 32-bit twin's.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "dyadic/optim.h"

namespace dyadic::test {
namespace {

TEST(OptimizerStates, EightBitStatesStayCloseToFloatAtEverySize) {
  for (const char* name : {"AdamW", "SGD", "Lion"}) {
    for (int64_t columns : {32, 1024, 4097}) {
      manual_seed(3);
      Tensor wide = mul(randn({1024, columns}), scalar_tensor(0.1)), narrow = wide.clone();
      wide.requires_grad_(), narrow.requires_grad_();
      optim::Options o{{"lr", 1e-3}};
      if (std::string(name) == "SGD") o.set("momentum", 0.9);
      optim::Optimizer a(name, {{"p", wide}}, o);
      o.set("state", dynamic8);
      optim::Optimizer b(name, {{"p", narrow}}, o);
      for (int k = 0; k < 50; ++k) {
        const Tensor g = mul(randn(wide.sizes()), scalar_tensor(0.01));
        wide.set_grad(g), narrow.set_grad(g);
        a.step(), b.step();
        ASSERT_LT(mean(abs(sub(wide.detach(), narrow.detach()))).item(), 6e-5) << name << " " << columns << " step " << k;
        narrow.detach().copy_(wide.detach());
      }
    }
  }
}

}  // namespace
}  // namespace dyadic::test
