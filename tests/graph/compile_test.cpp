// Compiled functions: the bits of eager ones, whatever the program does on the way; and what they save.
#include "dyadic/compile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "corridor/run.h"
#include "dyadic/autograd.h"
#include "dyadic/generator.h"
#include "dyadic/ops.h"
#include "dyadic/optim.h"
#include "dyadic/parallel.h"
#include "dyadic/planes.h"
#include "graph/expression.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

Tensor chain(const Tensor& x, const Tensor& y) {
  Tensor t = x * y;
  t = t + x;
  t = t * 0.5;
  t = t - y;
  t = relu(t);
  t = t * t;
  return t + x;
}

TEST(compile, chain_of_seven_in_one_pass) {
  const PutOffAll all;
  manual_seed(1);
  for (const DType d : {f32, f64, bf16, f16, i64, u8})
    for (const int64_t n : {1, 7, 33, 1024, 1025, 5000, 70001}) {
      SCOPED_TRACE(d.name() + " " + std::to_string(n));
      const Tensor x = (randn({n}) * 3).to(d), y = (randn({n}) * 3).to(d);
      expect_same([&] { return std::vector<Tensor>{chain(x, y)}; });
    }
}

// Every op, and every gradient, that is arithmetic alone: what goes through registers has the bits of the op's own tile.
TEST(compile, arithmetic_in_registers) {
  const PutOffAll all;
  const NoGrad guard;
  std::vector<float> special = {0.0f, -0.0f, 1e-40f, -1e-40f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN, 1, -1, 0.5f, 1e-20f};
  const int64_t n = 2000;
  std::vector<Tensor> given;
  for (int k = 0; k < kMaxOperands; ++k) {
    Tensor t = randn({n});
    float* x = t.data_ptr<float>();
    for (int64_t i = 0; i < 700; ++i) x[i] = special[size_t(i / (k < 2 ? 1 + 12 * k : 5 + k)) % special.size()];
    given.push_back(t);
  }
  std::vector<Tensor> inputs;
  DType asked;
  int checked = 0;
  auto check = [&](Op op, int tensors, std::vector<Scalar> numbers, bool asks) {
    if (!graph::expression_of(op_def(op).pw, numbers)) return;
    std::vector<Arg> args(inputs.begin(), inputs.begin() + tensors);
    args.insert(args.end(), numbers.begin(), numbers.end());
    if (asks) args.push_back(asked);
    Tensor eager, compiled;
    std::vector<Arg> copy = args;
    call_op(op, copy.data(), int(copy.size()), &eager);
    auto f = compile([&] { call_op(op, args.data(), int(args.size()), &compiled); });
    f();
    EXPECT_TRUE(bits(compiled) == bits(eager)) << op_name(op);
    checked += f.explain().find("registers") != std::string::npos;
  };
  auto check_all = [&](int id) {
    const OpDef& op = op_def(Op(id));
    if (op.kind != OpKind::pointwise || !op.pw.in(Compute::f32)) return;
    const std::vector<Scalar> numbers(size_t(op.pw.params), 0.7);
    if (!op.variant || op.pw.params == 0) check(Op(id), op.pw.inputs, numbers, false);
    for (int k = 0; k < op.pw.inputs; ++k)
      if (op.pw.has_grad(k) && !op.pw.grad_is_g[k]) check(gradient_op(Op(id), k), op.pw.inputs + 2, numbers, true);
  };
  for (const bool mixed : {false, true})
    for (const DType d : {f32, bf16}) {
      asked = d;
      inputs = given;
      for (size_t k = mixed; k < inputs.size(); k += 1 + mixed) inputs[k] = inputs[k].to(d);
      for (size_t k = 0; k < inputs.size(); ++k) {  // NaNs that signal
        const bool low = inputs[k].dtype() == bf16;
        for (int i = 0; i < 40; ++i)
          if (low)
            static_cast<uint16_t*>(inputs[k].data_ptr())[100 + i * 7 * (int(k) + 1)] = 0x7f81;
          else
            static_cast<uint32_t*>(inputs[k].data_ptr())[100 + i * 7 * (int(k) + 1)] = 0x7f800001;
      }
      for (int id = 0; id < kOps; ++id) check_all(id);
    }
  EXPECT_GT(checked, 200);
}

TEST(compile, nans_keep_their_bits) {
  const NoGrad guard;
  const Tensor x = randn({20000}), y = randn({20000});
  const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffc01234, 0x7fffffff};
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < 300; ++i)
      static_cast<uint32_t*>((k ? y : x).data_ptr())[(i * i * 3 + i % (2 + k)) % 20000] = nans[i % 5];
  for (const DType d : {f32, bf16})
    expect_same([&] {
      Tensor p = x.clone().to(d), q = y.clone().to(d);
      const Tensor t = p * q + p, u = q + p * 0.5, v = maximum(t, u) - (q - t);
      p.add_(t).mul_(u);
      q.sub_(p);
      return std::vector<Tensor>{t, u, v, p, q, minimum(v, -p)};
    });
}

TEST(compile, values_that_are_read_again_and_again) {
  const Tensor a1 = randn({10000}), a2 = randn({10000});
  for (const DType d : {f32, bf16})
    expect_same([&] {
      const Tensor x = a1.to(d), y = a2.to(bf16);
      std::vector<Tensor> t = {x, y};
      for (int k = 0; k < 24; ++k) t.push_back((k % 3 ? t[size_t(k) / 2] : t.back()) * t[size_t(k)] - t[size_t(k) / 3]);
      const Tensor a = t[20] - t[5], b = a * a + t[7] / (a - t[9]);
      return std::vector<Tensor>{b, t[11], minimum(b, -a) * 2};
    });
}

TEST(compile, explains_passes_over_memory) {
  const Tensor x = randn({64, 64}), y = randn({64, 64});
  auto f = compile([&] { return chain(x, y); });
  for (int k = 0; k < 4; ++k) f();
  const std::string text = f.explain();
  EXPECT_NE(text.find("4 runs: 21 calls matched what was recorded, 7 were recorded"), std::string::npos) << text;
  EXPECT_NE(text.find("mul add mul sub relu mul add of f32[64, 64]"), std::string::npos) << text;
  EXPECT_NE(text.find("2.87e+04"), std::string::npos) << text;  // FLOPs: seven for each of 4096 elements
}

TEST(compile, the_same_is_computed_once) {
  const Tensor x = randn({64, 64}), y = randn({64, 64});
  expect_same(
      [&] { return std::vector<Tensor>{sigmoid(x + y) * y + sigmoid(x + y), leaky_relu(x, 0.1) * leaky_relu(x, 0.2)}; });
  auto f = compile([&] { return sigmoid(x + y) * y + sigmoid(x + y); });
  f();
  EXPECT_NE(f.explain().find("add sigmoid mul add of f32[64, 64]  "), std::string::npos) << f.explain();
  // What is held twice are two tensors; what was written in between is read anew.
  auto two = compile([&] {
    const Tensor a = exp(x), b = exp(x);
    a.mul_(2.0);
    Tensor c = exp(y);
    Tensor d = c * exp(y);
    c.add_(1.0);
    return std::vector<Tensor>{a, b, c, d, c * exp(y)};
  });
  for (int k = 0; k < 2; ++k) {
    const std::vector<Tensor> r = two();
    EXPECT_TRUE(bits(r[0]) == bits(exp(x) * 2.0) && bits(r[1]) == bits(exp(x)));
    EXPECT_TRUE(bits(r[2]) == bits(exp(y) + 1.0) && bits(r[3]) == bits(exp(y) * exp(y)));
    EXPECT_TRUE(bits(r[4]) == bits((exp(y) + 1.0) * exp(y)));
  }
}

TEST(compile, draws_its_programs) {
  const Tensor x = randn({64, 64}), y = randn({64, 64});
  auto f = compile([&] { return chain(x, y); });
  for (int k = 0; k < 2; ++k) f();
  const std::string dot = f.dot();
  int edges = 0, made = 0;
  for (size_t at = 0; (at = dot.find(" -> ", at)) != dot.npos; ++at) ++edges;
  for (size_t at = 0; (at = dot.find("[label=", at)) != dot.npos; ++at) ++made;
  EXPECT_EQ(made, 7) << dot;
  EXPECT_EQ(edges, 13) << dot;  // two operands of six calls, one of relu
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}')) << dot;
  EXPECT_NE(dot.find("style=bold"), dot.npos) << dot;
}

TEST(compile, operands_that_repeat) {
  const Tensor x = randn({6, 40, 50}), bias = randn({50}), scale = randn({6, 40, 1}), middle = randn({6, 1, 50}),
               one = randn({1, 1, 1}), channel = randn({40, 1});
  expect_same([&] { return std::vector<Tensor>{gelu(x + bias) * scale + one, (x - channel) * 2 + middle * x}; });
  // Written down as strides of 0.
  const Tensor wide = bias.expand({6, 40, 50}), rows = scale.expand({6, 40, 50}), all = one.expand({6, 40, 50});
  auto f = compile([&] { return (x + wide) * rows - all * x + bias.expand({40, 50}); });
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(bits(f()) == bits((x + wide) * rows - all * x + bias.expand({40, 50})));
  EXPECT_EQ(f.explain().find("strided"), std::string::npos) << f.explain();
}

TEST(compile, dtypes_that_mix) {
  const Tensor x = randn({6000}), h = randn({6000}).to(bf16), i = randint(0, 9, {6000}), b = x > 0;
  expect_same([&] {
    const Tensor low = h * 1.5 + h, both = low + x, whole = i * 2 + b, real = whole / 3 + h;
    return std::vector<Tensor>{low, both, whole, real, where(both > 0.25, low, h), exp(h.to(f16) * 0.1)};
  });
}

TEST(compile, results_that_are_held_are_there) {
  const Tensor x = randn({5000}), y = randn({5000});
  expect_same([&] {
    std::vector<Tensor> held;
    Tensor t = x;
    for (int k = 0; k < 100; ++k) {  // more than are put off at once
      t = t * 0.99 + y;
      if (k % 7 == 0) held.push_back(t);
    }
    held.push_back(t);
    return held;
  });
}

TEST(compile, writes_come_after_what_was_read_before) {
  expect_same([] {
    Tensor x = randn({5000}), y = randn({5000});
    const Tensor before = x * 2 + y;
    x.add_(1);
    const Tensor between = x * y;
    y.copy_(x);
    y[0] = 5;
    const Tensor after = between + y;
    x.fill_(3);
    Tensor z = x - after;
    z.mul_(before);
    z.relu_();
    float* memory = x.data_ptr<float>();
    const Tensor last = x + z;
    x.data_ptr<float>()[0] = 100;
    return std::vector<Tensor>{before, between, after, x, y, z, last, x + memory[1]};
  });
}

TEST(compile, views_of_what_is_not_there_yet) {
  const Tensor x = randn({64, 96});
  expect_same([&] {
    const Tensor t = x * 2 + 1;
    const Tensor turned = t.t() + x.t(), flat = t.view({-1}) * 3, part = t.narrow(0, 8, 40) - x.narrow(0, 0, 40);
    return std::vector<Tensor>{turned, flat.view({96, 64}) + 1, part, t[3] * 2, matmul(t + 1, x.t()), view_as(t * 3, i32)};
  });
}

TEST(compile, branches_on_values) {
  for (const double shift : {-10.0, 10.0}) {
    const Tensor x = randn({6000}) + shift;
    expect_same([&] {
      Tensor t = x * 2;
      for (int k = 0; k < 3; ++k)
        if ((t + k).sum().item() > 0)
          t = t * 0.5 - 4;
        else
          t = exp(t * 0.1) + x;
      return std::vector<Tensor>{t, t.max()};
    });
  }
}

TEST(compile, an_optimizer_written_in_calls) {
  const NoGrad guard;
  expect_same([] {
    Tensor p = randn({60, 70}), m = zeros({60, 70}), v = zeros({60, 70}), low = zeros({60, 70}, bf16);
    std::vector<Tensor> kept;
    for (int k = 0; k < 5; ++k) {
      const Tensor g = randn({60, 70}), flat = m.view({-1});
      m.mul_(0.9).add_(g, 0.1);
      v.mul_(0.99).addcmul_(g, g, 0.01);
      p.addcdiv_(m, v.sqrt() + 1e-8, -0.1);
      low.add_(p);  // rounded to what it is
      kept.push_back(flat * 2);
      kept.push_back(p[0] + low);
    }
    kept.insert(kept.end(), {p, m, v, low});
    return kept;
  });
  Tensor p = randn({60, 70});
  const uint32_t version = p.version();
  auto f = compile([&] { p.mul_(0.5).add_(1).clamp_(0, 1); });
  f();
  EXPECT_EQ(p.version(), version + 3);
  EXPECT_NE(f.explain().find("mul_ add_ clamp_between_ of f32[60, 70]      3     1                   2        6"),
            std::string::npos)
      << f.explain();
  Tensor whole = randint(0, 9, {5000});
  auto wrong = compile([&] { whole.add_(0.5); });
  EXPECT_THROW(wrong(), Error);
  auto gone = compile([] { randn({5000}).mul_(2).add_(1); });
  const int64_t before = memory_allocated();
  gone();
  EXPECT_EQ(memory_allocated(), before);
}

TEST(compile, gradients_and_second_gradients) {
  const Tensor x = randn({5000}).requires_grad_(), y = randn({5000}).requires_grad_();
  expect_same([&] {
    const Tensor t = (sin(x) * y + x * x).sum();
    const std::vector<Tensor> first = grad({t}, {x, y}, {}, true, true);
    const Tensor z = (first[0] * first[1]).sum();
    std::vector<Tensor> all = grad({z}, {x, y});
    all.insert(all.end(), first.begin(), first.end());
    return all;
  });
}

TEST(compile, memory_that_others_write) {
  std::vector<float> memory(5000, 1);
  const Tensor shared = make_foreign(memory.data(), {5000}, f32, [](void*) {}, nullptr);
  auto f = compile([&] {
    const Tensor t = shared * 2;
    memory[0] = 7;
    return t + 1;
  });
  EXPECT_EQ(f().to_vector()[0], 3);
  EXPECT_NE(f.explain().find("mul: memory that others may write"), std::string::npos) << f.explain();
}

TEST(compile, other_threads_read_and_write) {
  Tensor x = randn({5000}), y = randn({5000});
  const std::string expected = bits({x * 2 + y, x * 3});
  auto f = compile([&] {
    const Tensor t = x * 2 + y;
    std::string seen;
    std::thread([&] { seen = bits(t + 0); }).join();
    EXPECT_TRUE(seen == bits(x * 2 + y));
    const Tensor u = x * 3;
    std::thread([&] { x.fill_(1); }).join();
    return std::vector<Tensor>{t, u};
  });
  EXPECT_TRUE(bits(f()) == expected);
}

TEST(compile, many_threads_run_it_at_once) {
  const Tensor x = randn({5000}), y = randn({5000});
  const std::string expected = bits(chain(x, y));
  auto f = compile([&] { return chain(x, y); });
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += bits(f()) != expected;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(compile, an_error_leaves_what_came_before) {
  const Tensor x = randn({5000});
  Tensor held;
  auto f = compile([&] {
    held = x * 2 + 1;
    return matmul(x, randn({3, 4}));
  });
  EXPECT_THROW(f(), Error);
  EXPECT_TRUE(bits(held) == bits(x * 2 + 1));
}

TEST(compile, want_of_memory_is_heard_of_and_passes) {
  const Tensor x = randn({1 << 20});
  const std::string expected = bits(x * 2 + 1);
  const int64_t before = memory_allocated();
  Tensor held;
  auto f = compile([&] {
    held = x * 2 + 1;
    set_memory_limit(before + (1 << 20));
    return held;
  });
  EXPECT_THROW(f(), OutOfMemoryError);
  EXPECT_THROW(held.sum(), OutOfMemoryError);
  set_memory_limit(0);
  EXPECT_TRUE(bits(held) == expected);
  held = Tensor();
  EXPECT_EQ(memory_allocated(), before);
}

TEST(compile, memory_is_no_more_than_eager) {
  const Tensor x = randn({1 << 18}), y = randn({1 << 18});
  auto peak = [&](auto f) {
    f();
    reset_peak_memory_stats();
    const int64_t before = memory_allocated();
    f();
    return max_memory_allocated() - before;
  };
  auto program = [&] { return matmul(chain(x, y).view({512, 512}), chain(y, x).view({512, 512})).sum().item(); };
  EXPECT_LE(peak(compile(program)), peak(program));
  EXPECT_EQ(peak(compile([&] { return chain(x, y); })), 1 << 20);
}

TEST(compile, a_thousand_shapes_keep_memory_flat) {
  auto f = compile([](const Tensor& x) { return chain(x, x + 1); });
  for (int64_t n = 1024; n < 2024; ++n) {
    const Tensor x = full({n}, 0.5);
    ASSERT_EQ(f(x).sum().item(), chain(x, x + 1).sum().item());
  }
  EXPECT_NE(f.explain().find("1000 runs"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::inline v1
