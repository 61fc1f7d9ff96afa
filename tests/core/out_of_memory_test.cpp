// A training step that is refused memory, at each of its allocations in turn: an OutOfMemoryError, nothing kept, and the next
// step works.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "device/failure.h"
#include "device/heap.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1 {
namespace {

struct Model : nn::Module {
  nn::Linear first{6, 8}, second{8, 3};
  nn::LayerNorm norm{{8}};
  Model() {
    add("first", first);
    add("second", second);
    add("norm", norm);
  }
  Tensor loss(const Tensor& x, const Tensor& targets) {
    nn::ModuleScope scope(*this);
    Tensor h = dropout(gelu(norm(first(x))), 0.25, true);
    h[0].add_(h[1]);  // a written view
    return cross_entropy(second(h), targets);
  }
};

double step(Model& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& targets) {
  optimizer.zero_grad();
  Tensor loss = model.loss(x, targets);
  loss.backward();
  optimizer.step();
  return loss.item();
}

void refuse_each(const char* optimizer_name, DType state) {
  manual_seed(1);
  Model model;
  Tensor x = randn({5, 6}), targets = randint(0, 3, {5});
  optim::Optimizer optimizer(optimizer_name, model.named_parameters(), {{"lr", 1e-3}, {"state", state}});
  step(model, optimizer, x, targets);
  optimizer.zero_grad();
  const MemoryStats before = memory_stats();
  int64_t refused = 0;
  for (bool done = false; !done;) {
    fail_allocation(++refused);
    try {
      step(model, optimizer, x, targets);
      done = true;
    } catch (const OutOfMemoryError& e) { ASSERT_NE(std::string(e.what()).find("as planned"), std::string::npos) << e.what(); }
    fail_allocation(0);
    optimizer.zero_grad();
    const MemoryStats now = memory_stats();
    for (int c = 0; c < kCategories; ++c)
      ASSERT_EQ(now.live[c], before.live[c]) << category_name(Category(c)) << ", allocation " << refused;
    ASSERT_TRUE(std::isfinite(step(model, optimizer, x, targets))) << "after allocation " << refused;
    optimizer.zero_grad();
  }
  EXPECT_GT(refused, 30);
}

TEST(out_of_memory, each_allocation_of_a_step) { refuse_each("AdamW", f32); }
TEST(out_of_memory, each_allocation_of_a_step_in_eight_bits) { refuse_each("Lion", dynamic8); }
TEST(out_of_memory, the_optimizer_s_first_step) {
  for (int64_t refused = 1;; ++refused) {
    manual_seed(1);
    Model model;
    Tensor x = randn({5, 6}), targets = randint(0, 3, {5});
    optim::Optimizer optimizer("AdamW", model.named_parameters(), {{"lr", 1e-3}});
    fail_allocation(refused);
    bool done = false;
    try {
      step(model, optimizer, x, targets);
      done = true;
    } catch (const OutOfMemoryError&) {}
    fail_allocation(0);
    ASSERT_TRUE(std::isfinite(step(model, optimizer, x, targets))) << "after allocation " << refused;
    if (!done) continue;
    EXPECT_GT(refused, 30);
    return;
  }
}

#if !DY_ASAN  // which has address space of its own, and a heap
// Address space is reserved by the gigabyte; where there is less, what is asked for is found in whatever there is.
TEST(OutOfMemory, LittleAddressSpace) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  constexpr int64_t kBytes = 24 << 20;
  for (const int64_t room : {27, 35, 48, 70, 200}) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit little{rlim_t(pages * sysconf(_SC_PAGESIZE) + (room << 20)), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
    std::vector<void*> all;
    bool refused = false;
    try {
      while (all.size() < 1000) all.push_back(heap_allocate(kBytes));
    } catch (const OutOfMemoryError&) { refused = true; }
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_TRUE(refused);
    EXPECT_GE(all.size(), 1u) << room;
    for (void* p : all) std::memset(p, 1, size_t(kBytes));
    for (void* p : all) heap_release(p, kBytes);
  }
}
#endif

}  // namespace
}  // namespace dyadic::inline v1
