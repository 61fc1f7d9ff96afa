// Memory that a device refuses: an OutOfMemoryError that names what was asked for, nothing kept, and the next call works.
#include <gtest/gtest.h>

#include <cmath>

#include "device/failure.h"
#include "dyadic/dyadic.h"
#include "tests/cuda/on_device.h"

namespace dyadic {
namespace {

class CudaFailures : public OnDevice {};

TEST_F(CudaFailures, EachAllocationOfAStep) {
  const CpuFallback by_host;
  manual_seed(1);
  nn::Sequential model({std::make_shared<nn::Linear>(6, 8), std::make_shared<nn::GELU>(), std::make_shared<nn::Linear>(8, 3)});
  model.to(there);
  const Tensor x = randn({5, 6}).to(there), targets = randint(0, 3, {5}).to(there);
  optim::Optimizer optimizer("AdamW", model.named_parameters(), {{"lr", 1e-3}});
  const auto step = [&] {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(x), targets);
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  step();
  optimizer.zero_grad();
  const MemoryStats before = memory_stats(there);
  int64_t refused = 0;
  for (bool done = false; !done;) {
    fail_allocation(++refused);
    try {
      step();
      done = true;
    } catch (const OutOfMemoryError& e) { ASSERT_NE(std::string(e.what()).find("as planned"), std::string::npos) << e.what(); }
    fail_allocation(0);
    optimizer.zero_grad();
    const MemoryStats now = memory_stats(there);
    for (int c = 0; c < kCategories; ++c)
      ASSERT_EQ(now.live[c], before.live[c]) << category_name(Category(c)) << ", allocation " << refused;
    ASSERT_TRUE(std::isfinite(step())) << "after allocation " << refused;
    optimizer.zero_grad();
  }
  EXPECT_GT(refused, 10);
}

TEST_F(CudaFailures, MoreThanThereIs) {
  const int64_t before = memory_allocated(there), total = cuda::mem_get_info().second;
  EXPECT_THROW(empty({total + 1}, u8, there), OutOfMemoryError);
  std::vector<Tensor> all;
  EXPECT_THROW(while (true) all.push_back(empty({total / 8}, u8, there)), OutOfMemoryError);
  EXPECT_GE(all.size(), 1u);
  all.clear();
  empty_cache();
  EXPECT_EQ(memory_allocated(there), before);
  EXPECT_EQ((ones({3}, f32, there) * 2).sum().item(), 6);
}

TEST_F(CudaFailures, ALimit) {
  set_memory_limit(memory_allocated(there) + (1 << 20), there);
  EXPECT_THROW(empty({1 << 20}, f32, there), OutOfMemoryError);
  EXPECT_NO_THROW(empty({1 << 10}, f32, there));
  set_memory_limit(0, there);
  EXPECT_NO_THROW(empty({1 << 20}, f32, there));
}

}  // namespace
}  // namespace dyadic
