// Products on a device against the host, in sizes that the op suite does not have: several tiles, a k that is cut into parts,
// few rows, stored weights, heads wider than a tile. Twice the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "dyadic/dyadic.h"
#include "tests/cuda/on_device.h"

namespace dyadic {
namespace {

class CudaProducts : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    manual_seed(3);
  }
  static bool is_simulated() { return cuda::properties().name.find("simulated") != std::string::npos; }

  // f of the same tensors on both; tolerance in units of the result's eps, of `terms` summed.
  template <class F> void same(const std::string& what, F&& f, std::vector<Tensor> inputs, int64_t terms) {
    const Tensor here = f(inputs);
    for (Tensor& t : inputs) t = t.to(there);
    const Tensor far = f(inputs), again = f(inputs);
    ASSERT_EQ(far.dtype(), here.dtype()) << what;
    EXPECT_TRUE(equal(far.cpu(), again.cpu())) << what << ": twice";
    const std::vector<double> a = here.to_vector(), b = far.cpu().to_vector();
    ASSERT_EQ(a.size(), b.size()) << what;
    // Values of f32 and f64 differ by the order of sums; 16-bit ones by how what is between was rounded, too.
    const bool wide = here.dtype() == f64 || here.dtype() == f32;
    const double eps = here.dtype() == f64 ? 0x1p-52 : here.dtype() == bf16 ? 0x1p-8 : here.dtype() == f16 ? 0x1p-11 : 0x1p-23;
    const double most = wide ? 4 * eps * double(terms + 1) : 8 * eps * std::sqrt(double(terms) + 1);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], most * (1 + std::abs(a[i]))) << what << ", number " << i;
  }

  // Of f's result, weighted by itself, for all inputs, one behind the other.
  template <class F> static auto gradients(F f) {
    return [f](const std::vector<Tensor>& t) {
      std::vector<Tensor> leaves, all;
      for (const Tensor& x : t) leaves.push_back(x.detach().requires_grad_());
      sum(square(f(leaves))).backward();
      for (const Tensor& x : leaves) all.push_back(x.grad().reshape({-1}));
      return cat(all);
    };
  }
};

TEST_F(CudaProducts, OfEveryCut) {
  const auto product = [](const std::vector<Tensor>& t) { return matmul(t[0], t[1]); };
  struct Sizes {
    int64_t m, n, k;
  };
  for (const DType d : {f32, f64, bf16, f16, i32, i64})
    for (const auto& [m, n, k] :
         {Sizes{1, 70, 300}, {3, 50, 5000}, {16, 140, 90}, {70, 3, 200}, {130, 140, 70}, {20, 30, 1300}}) {
      const std::string what = d.name() + " " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k);
      const Tensor a = d.is_floating_point() ? randn({m, k}).to(d) : randint(-9, 9, {m, k}).to(d);
      const Tensor b = d.is_floating_point() ? randn({n, k}).to(d) : randint(-9, 9, {n, k}).to(d);
      same(what, product, {a, b.t()}, k);
      same(what + " turned", product, {a.t().contiguous().t(), b.t().contiguous()}, k);
    }
}

// Lines of 5001 numbers begin at odd places: beside the same numbers with some zeros more. Of a size that the library is asked
// for, which the simulator does not have.
TEST_F(CudaProducts, OfUnevenLines) {
  if (is_simulated()) GTEST_SKIP() << "the simulated device has no cuBLASLt";
  const NoGrad guard;
  const int64_t tokens = 2048, width = 768, words = 5001, more = 7;
  const auto near = [&](const Tensor& a, const Tensor& b, const std::string& what) {
    ASSERT_EQ(a.sizes(), b.sizes()) << what;
    EXPECT_LT((a.to(f32) - b.to(f32)).abs().max().item(), 0x1p-7 * b.to(f32).abs().max().item()) << what;
  };
  for (const DType d : {bf16, f16}) {
    const Tensor x = randn({tokens, width}).to(d).to(there), w = (randn({words, width}) * 0.03).to(d).to(there);
    const Tensor bias = randn({words}).to(d).to(there), g = randn({tokens, words}).to(d).to(there);
    const auto wider = [&](const Tensor& t, int64_t dim) {
      std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
      sizes[size_t(dim)] = more;
      return cat({t, zeros(sizes, d, there)}, dim);
    };
    near(linear(x, w, bias), slice(linear(x, wider(w, 0), wider(bias, 0)), 1, 0, words), "rows of logits");
    near(matmul(w, x.t()).t(), linear(x, w), "turned");
    near(matmul(g, w), matmul(wider(g, 1), wider(w, 0)), "gradient of the input");
    near(matmul(g.t(), x), slice(matmul(wider(g, 1).t(), x), 0, 0, words), "gradient of the weight");
    near(matmul(x.t(), g), slice(matmul(x.t(), wider(g, 1)), 1, 0, words), "turned gradient of the weight");
    EXPECT_TRUE(equal(linear(x, w, bias), linear(x, w, bias)));
  }
}

TEST_F(CudaProducts, OfStoredWeights) {
  const auto product = [](const std::vector<Tensor>& t) { return linear(t[0], t[1]); };
  const auto back = [](const std::vector<Tensor>& t) { return matmul(t[0], t[1]); };
  for (const char* name :
       {"q4_0", "q8_0", "q4_K", "q6_K", "nf4", "nf4(block=64)", "i4(group=32)", "i4(group=64,zero)", "mxfp4", "q5_0"}) {
    const Tensor w = randn({96, 512}).to(DType::parse(name));
    for (const auto& [d, m] : {std::pair<DType, int64_t>{f32, 3}, {f32, 9}, {bf16, 1}, {bf16, 12}, {bf16, 150}, {f16, 4}}) {
      const std::string what = std::string(name) + " " + d.name() + " " + std::to_string(m);
      same(what, product, {randn({m, 512}).to(d), w}, 512);
      if (d != f32) same(what + " back", back, {randn({m, 96}).to(d), w}, 96);
    }
  }
}

// At most 16 rows with weights of which few_rows.h decodes units: sides by side, steps cut short, lines that begin at odd
// places, a cut k; against the sums of f64 of the values that the weights have.
TEST_F(CudaProducts, OfFewRows) {
  struct Sizes {
    int64_t m, n, k;
  };
  const auto near = [&](const std::string& what, const Tensor& x, const Tensor& w, const Tensor& bias) {
    const Tensor far = linear(x.to(there), w.to(there), bias.to(there)),
                 again = linear(x.to(there), w.to(there), bias.to(there));
    EXPECT_TRUE(equal(far.cpu(), again.cpu())) << what << ": twice";
    const Tensor values = w.to(f64), exact = linear(x.to(f64), values, bias.to(f64));
    const double eps = x.dtype() == bf16 ? 0x1p-8 : 0x1p-11;
    const Tensor sizes = sqrt(linear(square(x.to(f64)), square(values)));  // of what is added; each is a 16-bit number
    const std::vector<double> a = exact.to_vector(), b = far.cpu().to_vector(), s = sizes.to_vector();
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], eps * (std::abs(a[i]) + 2 * s[i])) << what << ", number " << i;
  };
  for (const char* name :
       {"bf16", "f16", "q4_0", "q8_0", "q4_K", "q6_K", "nf4", "nf4(block=64)", "nf4(block=32)", "nf4(block=64,double)",
        "i4(group=32)", "i4(group=64,zero)", "i4(row)", "i4(group=32,scale=f16)", "mxfp4"})
    for (const auto& [m, n, k] : {Sizes{1, 37, 1024},
                                  {3, 3083, 256},
                                  {2, 70, 2560},
                                  {8, 50, 320},
                                  {16, 130, 768},
                                  {11, 6150, 256},
                                  {5, 20, 8960},
                                  {9, 12300, 256}}) {
      const bool large = n * k > 300000;
      const DType stored = DType::parse(name);
      if (std::string(name).ends_with("_K") && k % 256) continue;
      for (const DType d : {bf16, f16}) {
        if ((large && d == f16) || (!stored.is_scaled() && stored != d)) continue;
        const Tensor w = randn({n, k}).to(stored), x = randn({m, k}).to(d), bias = randn({n}).to(d);
        near(std::string(name) + " " + d.name() + " " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k),
             x, w, bias);
        if (!large && n > 20) near(std::string(name) + " rows", x, w.narrow(0, 3, n - 3), bias.narrow(0, 3, n - 3));
      }
    }
}

TEST_F(CudaProducts, OfAttention) {
  struct Sizes {
    int64_t queries, keys, width;
  };
  for (const DType d : {f32, f64, bf16, f16})
    for (const auto& [queries, keys, width] : {Sizes{70, 130, 64}, {35, 66, 80}, {20, 30, 136}, {1, 90, 33}})
      for (const bool causal : {false, true}) {
        const std::string what = d.name() + " " + std::to_string(width) + (causal ? " causal" : "");
        const auto forward = [&](const std::vector<Tensor>& t) {
          return scaled_dot_product_attention(t[0], t[1], t[2], {}, 0, causal);
        };
        const std::vector<Tensor> in = {randn({1, 2, queries, width}).to(d), randn({1, 2, keys, width}).to(d),
                                        randn({1, 2, keys, width}).to(d)};
        same(what, forward, in, keys);
        if (causal) same(what + " gradients", gradients(forward), in, 4 * keys);
      }
}

// Several tiles of each side, as a card's own instructions take them; heads that lie between each other; rows that see nothing.
TEST_F(CudaProducts, OfLongAttention) {
  struct Sizes {
    int64_t queries, keys, width;
  };
  const std::vector<Sizes> all = {{300, 300, 128}, {140, 333, 64}, {260, 150, 128}, {129, 257, 40}, {200, 200, 96}},
                           one = {{130, 140, 40}};
  for (const DType d : {bf16, f16})
    for (const auto& [queries, keys, width] : is_simulated() ? one : all)
      for (const bool causal : {false, true}) {
        const std::string what =
            d.name() + " " + std::to_string(queries) + " " + std::to_string(width) + (causal ? " causal" : "");
        const auto forward = [&](const std::vector<Tensor>& t) {
          std::vector<Tensor> heads;  // of [B, T, H, D]
          for (const Tensor& x : t) heads.push_back(x.transpose(1, 2));
          return scaled_dot_product_attention(heads[0], heads[1], heads[2], {}, 0, causal).transpose(1, 2);
        };
        const std::vector<Tensor> in = {randn({2, queries, 2, width}).to(d), randn({2, keys, 2, width}).to(d),
                                        randn({2, keys, 2, width}).to(d)};
        same(what, forward, in, keys);
        same(what + " gradients", gradients(forward), in, 4 * keys);
      }
}

TEST_F(CudaProducts, OfConvolutions) {
  for (const DType d : {f32, f64, bf16}) {
    const auto forward = [](const std::vector<Tensor>& t) { return conv2d(t[0], t[1], t[2], {2, 1}, {1, 2}, {1, 2}, 2); };
    const std::vector<Tensor> in = {randn({3, 8, 17, 15}).to(d), mul(randn({70, 4, 3, 3}), 0.2).to(d), randn({70}).to(d)};
    same(d.name(), forward, in, 36);
    same(d.name() + " gradients", gradients(forward), in, 4000);
  }
}

}  // namespace
}  // namespace dyadic
