// What ranks tell each other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "distributed/call.h"
#include "distributed/tree.h"
#include "dyadic/dyadic.h"
#include "tests/distributed/local_ranks.h"

namespace dyadic::inline v1::distributed {
namespace {

const std::vector<int> kSizes = {1, 2, 3, 4, 7};
void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}
Tensor of_rank(int rank, IntList sizes, DType dtype) {
  Generator g{uint64_t(rank) + 1};
  return dtype.is_floating_point() ? randn(sizes, g).to(dtype) : randint(1, 5, sizes, g, dtype);
}

TEST(Group, SumsInOneTree) {
  for (const int size : kSizes)
    for (const DType dtype : {f32, f64, bf16, f16, i32, i64, u8})
      for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {0}, {1}, {5}, {3, 1000}}) {
        const DType wide = dtype.is_floating_point() && dtype.itemsize() < 4 ? f32 : dtype;
        const Tensor wanted = in_tree<Tensor>(
            0, size, [&](int64_t r) { return of_rank(int(r), sizes, dtype).to(wide); },
            [](const Tensor& a, const Tensor& b) { return a + b; });
        expect_none(on_ranks(size, [&](Group& g) {
          const Tensor t = of_rank(g.rank(), sizes, dtype);
          g.all_reduce(t);
          EXPECT_TRUE(equal(t, wanted.to(dtype))) << size << " " << dtype.name();
        }));
      }
}

TEST(Group, OtherWaysToReduce) {
  expect_none(on_ranks(3, [](Group& g) {
    const auto reduced = [&](Reduce how) {
      const Tensor t = tensor({double(g.rank()) - 1, double(g.rank()) + 1, 2.0});
      g.all_reduce(t, how);
      return t;
    };
    EXPECT_TRUE(equal(reduced(Reduce::mean), tensor({0.0, 2.0, 2.0})));
    EXPECT_TRUE(equal(reduced(Reduce::product), tensor({0.0, 6.0, 8.0})));
    EXPECT_TRUE(equal(reduced(Reduce::min), tensor({-1.0, 1.0, 2.0})));
    EXPECT_TRUE(equal(reduced(Reduce::max), tensor({1.0, 3.0, 2.0})));
    EXPECT_THROW(g.all_reduce(ones({2}, i64), Reduce::mean), TypeError);
    EXPECT_THROW(g.all_reduce(ones({2, 64}).to(nf4)), TypeError);
  }));
}

TEST(Group, MovesEveryDtypeAndLayout) {
  for (const int size : kSizes)
    expect_none(on_ranks(size, [&](Group& g) {
      for (const DType dtype : {f32, bf16, f8e4m3fn, c64, i8, boolean, q8_0, q4_K, nf4}) {
        const Tensor mine = of_rank(g.rank(), {4, 256}, f32).to(dtype), first = of_rank(0, {4, 256}, f32).to(dtype);
        const Tensor got = mine.clone();
        g.broadcast(got);
        EXPECT_TRUE(equal(got.to(f64), first.to(f64))) << dtype.name();
      }
      const Tensor wide = of_rank(g.rank(), {6, 4}, f32), turned = wide.t();
      g.broadcast(turned, size - 1);
      EXPECT_TRUE(equal(wide, of_rank(size - 1, {6, 4}, f32)));
      const Tensor all = empty({size, 2, 3}, i32);
      g.all_gather(all, full({2, 3}, g.rank(), i32));
      for (int r = 0; r < size; ++r) EXPECT_TRUE(equal(all.select(0, r), full({2, 3}, r, i32)));
      const Tensor to = zeros({2 * size}, i64), from = arange(0, 2 * size, 1, i64) + 100 * g.rank();
      g.all_to_all(to, from);
      for (int r = 0; r < size; ++r) EXPECT_EQ(to.select(0, 2 * r).item<int64_t>(), 100 * r + 2 * g.rank());
      const Tensor part = zeros({2}, f32);
      g.reduce_scatter(part, (arange(0, 2 * size, 1, f32) + g.rank()));
      EXPECT_EQ(part.select(0, 1).item(), size * (2 * g.rank() + 1) + size * (size - 1) / 2);
    }));
}

TEST(Group, SendsAndReceives) {
  expect_none(on_ranks(3, [](Group& g) {
    const Tensor t = full({5}, g.rank(), f32);
    if (g.rank() == 0) g.send(t + 7, 2, 3);
    if (g.rank() == 2) g.receive(t, 0, 3);
    EXPECT_TRUE(equal(t, full({5}, g.rank() == 2 ? 7 : g.rank(), f32)));
    EXPECT_THROW(g.send(t, g.rank()), ValueError);
    g.barrier();
  }));
}

TEST(Group, Texts) {
  expect_none(on_ranks(4, [](Group& g) {
    const std::vector<std::string> all = g.all_gather(std::string(size_t(g.rank()) * 1000, char('a' + g.rank())));
    for (size_t r = 0; r < 4; ++r) EXPECT_EQ(all[r], std::string(r * 1000, char('a' + int(r))));
    EXPECT_EQ(g.broadcast(g.rank() == 2 ? "from two" : "", 2), "from two");
    int ran = 0;
    g.on_first([&] { ++ran; });
    EXPECT_EQ(ran, g.rank() == 0);
  }));
  for (const std::string& e : on_ranks(2, [](Group& g) { g.on_first([] { throw Error("the disk is full"); }); }))
    EXPECT_EQ(e, "the disk is full");
}

// Every rank is told who calls what.
TEST(Group, CallsThatDoNotFit) {
  for (const std::string& e : on_ranks(3, [](Group& g) { g.all_reduce(ones({g.rank() == 1 ? 3 : 2})); }))
    EXPECT_EQ(e,
              "distributed: rank 0 calls all_reduce of f32[2] (sum), rank 1 all_reduce of f32[3] (sum): calls come in the same "
              "order on every rank, with shapes and dtypes that fit");
  for (const std::string& e : on_ranks(2, [](Group& g) { g.rank() ? g.barrier() : g.broadcast(ones({2})); }))
    EXPECT_NE(e.find("rank 0 calls broadcast of f32[2] from 0, rank 1 barrier"), e.npos) << e;
  for (const std::string& e :
       on_ranks(2, [](Group& g) { g.require_equal("the run", g.rank() ? "steps 5, seed 0" : "steps 5, seed 1"); }))
    EXPECT_EQ(e,
              "distributed: ranks do not agree on the run: rank 0 has seed 1, rank 1 seed 0; start them with the same program, "
              "options and files");
}

TEST(Group, WhoDoesNotComeIsNamed) {
  set_timeout(0.2);
  const std::vector<std::string> errors = on_ranks(3, [](Group& g) {
    if (g.rank() != 1) g.barrier();
  });
  set_timeout(1800);
  EXPECT_NE(errors[0].find("barrier: rank 0 has waited"), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find(" s for rank 1; another rank has stalled or ended"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], "");
}

// One that has said what it calls, and then is gone.
TEST(Group, WhoIsMissingInACollectiveIsNamed) {
  set_timeout(0.2);
  const std::vector<std::string> errors = on_ranks(4, [](Group& g) {
    const Call call(g, "sum");
    if (g.rank() == 2) return;
    std::vector<char> from(4), to(4);
    std::vector<Range> each;
    for (int r = 0; r < 4; ++r) each.push_back({r, r + 1});
    exchange(call, from.data(), each, to.data(), each, 1, 1);
  });
  set_timeout(1800);
  for (const int r : {0, 1, 3})
    EXPECT_TRUE(errors[size_t(r)].starts_with(fmt::format("sum: rank {} has waited 0.2 s for rank 2; another rank has", r)))
        << errors[size_t(r)];
  EXPECT_EQ(errors[2], "");
}

// Pieces, where buffers are larger than an engine takes at once.
TEST(Group, ExchangesInPieces) {
  expect_none(on_ranks(3, [](Group& g) {
    std::vector<int32_t> from(30), to(30, -1);
    std::iota(from.begin(), from.end(), 1000 * g.rank());
    std::vector<Range> sent, received;
    for (int r = 0; r < 3; ++r) sent.push_back({10 * r, 10 * r + 3 * r}), received.push_back({10 * r, 10 * r + 3 * g.rank()});
    const Call call(g, "exchange");
    exchange(call, reinterpret_cast<char*>(from.data()), sent, reinterpret_cast<char*>(to.data()), received, 6, 4, 24);
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 10; ++k) EXPECT_EQ(to[size_t(10 * r + k)], k < 3 * g.rank() ? 1000 * r + 10 * g.rank() + k : -1);
  }));
}

// A sum moves what it must: to every other rank its part, and back.
TEST(Group, BytesOnTheWire) {
  expect_none(on_ranks(4, [](Group& g) {
    const int64_t before = g.bytes_sent();
    g.all_reduce(ones({1000}));
    EXPECT_EQ(g.bytes_sent() - before, 2 * 3 * 250 * 4);
  }));
}

TEST(Group, OneProcessNeedsNoEngine) {
  Group alone(nullptr);
  const Tensor t = ones({3});
  alone.all_reduce(t);
  alone.broadcast(t);
  alone.barrier();
  EXPECT_TRUE(equal(t, ones({3})));
  EXPECT_EQ(alone.size(), 1);
  EXPECT_THROW(alone.send(t, 0), ValueError);
}

}  // namespace
}  // namespace dyadic::inline v1::distributed
