// Autocast: scopes, the cache of casts, what is reported and what is warned of. Policies per op: op_suite/autocast_test.cpp.
#include <gtest/gtest.h>

#include <thread>

#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/checkpoint.h"
#include "dyadic/counters.h"
#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

AutocastCalls calls_of(const char* op) {
  for (const AutocastCalls& c : Autocast::report())
    if (c.op == op) return c;
  return {};
}
Tensor weight(IntList sizes) { return mul(randn(sizes), 0.1).detach().requires_grad_(); }

TEST(Autocast, ScopesNestAndEnd) {
  const Tensor x = randn({4, 4});
  EXPECT_FALSE(Autocast::enabled());
  {
    const Autocast outer(bf16);
    EXPECT_EQ(matmul(x, x).dtype(), bf16);
    {
      const Autocast inner(f16);
      EXPECT_EQ(matmul(x, x).dtype(), f16);
      EXPECT_EQ(Autocast::dtype(), f16);
      const Autocast off(bf16, false);
      EXPECT_FALSE(Autocast::enabled());
      EXPECT_EQ(matmul(x, x).dtype(), f32);
      const Autocast again(bf16);
      EXPECT_EQ(matmul(x, x).dtype(), bf16);
    }
    EXPECT_EQ(Autocast::dtype(), bf16);
    EXPECT_EQ(matmul(x, x).dtype(), bf16);
    EXPECT_THROW(
        {
          const Autocast inner(f16);
          matmul(x, randn({3, 3}));
        },
        Error);
    EXPECT_EQ(matmul(x, x).dtype(), bf16);
  }
  EXPECT_FALSE(Autocast::enabled());
  EXPECT_EQ(matmul(x, x).dtype(), f32);
  EXPECT_THROW(Autocast{f64}, ValueError);
}

TEST(Autocast, CastsAreMadeOnceAndAgainAfterAWrite) {
  const Tensor x = randn({4, 8}), w = weight({8, 8});
  const Autocast scope(bf16);
  Autocast::clear_report();
  const Tensor before = linear(x, w);
  linear(x, w);
  AutocastCalls c = calls_of("linear");
  EXPECT_EQ(c.calls, 2);
  EXPECT_EQ(c.casts, 3);  // x twice, w once
  EXPECT_EQ(c.cached, 1);
  {
    NoGrad guard;
    w.mul_(2.0);
  }
  const Tensor after = linear(x, w);
  EXPECT_EQ(calls_of("linear").casts, 5);
  EXPECT_EQ(after.to_vector(), (before.detach() * 2.0).to_vector());
  {
    NoGrad guard;  // a cast that is not recorded is not kept for those that are
    linear(x, w);
  }
  {
    const Autocast uncached(bf16, true, false);
    linear(x, w);
    linear(x, w);
  }
  c = calls_of("linear");
  EXPECT_EQ(c.cached, 1);
  sum(linear(x, w)).backward();
  EXPECT_TRUE(w.grad().defined());
}

TEST(Autocast, ReportSaysWhatRanInWhatAndWhy) {
  Autocast::clear_report();
  const Tensor x = randn({4, 4}), wide = randn({4, 4}, f64);
  {
    const Autocast scope(bf16);
    const Tensor y = matmul(x, x);
    matmul(y, y);
    exp(y);
    add(x, y);
    matmul(wide, wide);
    {
      const Autocast off(bf16, false);
      matmul(x, x);
    }
    add(ones({2}, i64), ones({2}, i64));  // no float: not listed
  }
  matmul(x, x);  // outside: not listed
  std::string found;
  for (const AutocastCalls& c : Autocast::report()) {
    found += c.op + " " + c.ran.name() + " " + c.given.name() + (c.and_given ? "+" + c.and_given.name() : "") + " " +
             std::to_string(c.calls) + " " + std::to_string(c.casts) + ": " + c.why + "\n";
  }
  EXPECT_EQ(found,
            "add f32 f32+bf16 1 0: promote: the op runs in what its inputs promote to\n"
            "exp f32 bf16 1 1: f32: the op needs float32's range or digits\n"
            "matmul bf16 f32 1 2: lower: the op runs in the low precision\n"
            "matmul bf16 bf16 1 0: lower: its inputs were in a low precision already\n"
            "matmul f64 f64 1 0: float64 is left alone\n"
            "matmul f32 f32 1 0: autocast is off in this region\n");
  const std::string text = Autocast::report_text();
  EXPECT_EQ(text.substr(0, text.find('\n')), "op      ran in  given      calls  casts  cached  why");
  EXPECT_NE(text.find("\nexp     f32     bf16           1      1       0  f32: the op"), text.npos) << text;
  Autocast::clear_report();
  EXPECT_TRUE(Autocast::report().empty());
}

// In a thread of its own: once per thread.
template <class F> std::string stderr_of(F f) {
  ::testing::internal::CaptureStderr();
  std::thread(f).join();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Autocast, WarnsOfHalfModelsInputsAndBackwardInside) {
  const Tensor x = randn({4, 4});
  const std::string fine = stderr_of([&] {
    const Tensor w = weight({4, 4});
    const Autocast scope(bf16);
    Tensor y;
    for (int i = 0; i < 2; ++i) y = linear(linear(x, w), w);
    linear(matmul(x, x).detach(), w);
  });
  EXPECT_EQ(fine, "");
  const std::string model = stderr_of([&] {
    const Tensor w = weight({4, 4}).detach().to(bf16).requires_grad_();
    for (int i = 0; i < 2; ++i) {
      const Autocast scope(bf16);
      linear(x, w);
    }
  });
  EXPECT_EQ(model,
            "dyadic: warning: autocast: the model is bf16 already (a parameter of linear): updates below its precision are "
            "lost, and what needs float32 gets rounded numbers; leave .half() or .bfloat16() away: autocast casts float32 "
            "weights\n");
  const std::string input = stderr_of([&] {
    const Tensor w = weight({4, 4}), half = x.to(f16);
    for (int i = 0; i < 2; ++i) {
      const Autocast scope(bf16);
      linear(half, w);
    }
  });
  EXPECT_EQ(input,
            "dyadic: warning: autocast: an input is f16 already (of linear): it has lost its digits before the first op; give "
            "float32: autocast casts where it helps\n");
  const std::string inside = stderr_of([&] {
    const Tensor w = weight({4, 4});
    for (int i = 0; i < 2; ++i) {
      const Autocast scope(bf16);
      sum(linear(x, w)).backward();
    }
  });
  EXPECT_EQ(
      inside,
      "dyadic: warning: autocast: backward() inside of the region; it runs in the dtypes of forward all the same: call it "
      "after the region\n");
}

TEST(Autocast, BackwardIsTheSameInsideAndOutside) {
  const Tensor x = randn({6, 5}), w = weight({7, 5});
  auto loss = [&] { return mean(square(softmax(linear(x, w), -1))); };
  Tensor outside, inside;
  {
    Tensor l;
    {
      const Autocast scope(bf16);
      l = loss();
    }
    outside = grad(std::vector{l}, std::vector{w})[0];
  }
  {
    const Autocast scope(bf16);
    inside = grad(std::vector{loss()}, std::vector{w})[0];
  }
  EXPECT_EQ(outside.dtype(), f32);
  EXPECT_EQ(inside.to_vector(), outside.to_vector());
}

}  // namespace
}  // namespace dyadic
