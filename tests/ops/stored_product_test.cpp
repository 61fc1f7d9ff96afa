// Products and tables whose weight is stored in another format: read where it lies, never decoded as a whole.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"

namespace dyadic::inline v1 {
namespace {

// What a weight may be stored in: floats that a product beside f32 decodes, and scaled formats.
std::vector<DType> weights() {
  std::vector<DType> all;
  for (const char* text : {"f16",
                           "bf16",
                           "f8e4m3fn",
                           "f8e5m2",
                           "f6e3m2fn",
                           "f4e2m1fn",
                           "nf4",
                           "nf4(block=128)",
                           "fp4",
                           "i4(group=32)",
                           "i4(group=128,zero)",
                           "i8(row)",
                           "f8e4m3fn(row)",
                           "dynamic8",
                           "mxfp8_e4m3",
                           "mxfp6_e3m2",
                           "mxfp4",
                           "nvfp4",
                           "q4_0",
                           "q4_1",
                           "q5_1",
                           "q8_0",
                           "q2_K",
                           "q3_K",
                           "q4_K",
                           "q5_K",
                           "q6_K",
                           "iq4_nl",
                           "iq4_xs",
                           "tq1_0",
                           "aqlm"})
    all.push_back(DType::parse(text));
  return all;
}

bool close(const Tensor& a, const Tensor& b, double scale) {
  return a.sizes() == b.sizes() && amax(abs(a - b)).item() <= scale;
}

TEST(StoredProducts, AreThoseOfTheDecodedWeight) {
  manual_seed(3);
  const int64_t n = 192, k = 512;
  for (const DType d : weights()) {
    const Tensor w = randn({n, k}).to(d), plain = w.to(f32);
    for (const int64_t m : {1, 3, 5, 70}) {
      const Tensor x = randn({m, k}), y = randn({m, n});
      const double bound = 1e-5 * amax(abs(plain)).item() * double(k);
      EXPECT_TRUE(close(linear(x, w), linear(x, plain), bound)) << d.name() << " " << m;
      if (!d.is_scaled()) continue;
      EXPECT_TRUE(close(matmul(x, w.t()), matmul(x, plain.t()), bound)) << d.name() << " " << m;
      EXPECT_TRUE(close(matmul(y, w), matmul(y, plain), bound)) << d.name() << " " << m;
    }
    if (d.bits() >= 16) continue;
    const Tensor half = randn({17, k}).to(bf16), rounded = plain.to(bf16);
    const double bound = 0.02 * amax(abs(plain)).item() * std::sqrt(double(k));
    EXPECT_TRUE(close(linear(half, w).to(f32), linear(half, rounded).to(f32), bound)) << d.name() << " beside bf16";
    if (!d.is_scaled()) continue;
    const Tensor x = randn({k, 9});
    EXPECT_TRUE(close(matmul(w, x), matmul(plain, x), 1e-5 * amax(abs(plain)).item() * double(k)))
        << d.name() << " on the left";
  }
}

TEST(StoredProducts, OfEveryView) {
  manual_seed(4);
  const Tensor w = randn({6, 64, 256}).to(q8_0), plain = w.to(f32);
  const Tensor x = randn({6, 5, 256});
  EXPECT_TRUE(close(matmul(x, w.transpose(1, 2)), matmul(x, plain.transpose(1, 2)), 1e-3));
  const Tensor one = randn({5, 64});
  EXPECT_TRUE(close(matmul(one, w), matmul(one, plain), 1e-3));
  const Tensor rows = slice(w, 1, 3, 60, 7), plain_rows = slice(plain, 1, 3, 60, 7);  // every seventh row
  EXPECT_TRUE(close(matmul(x, rows.transpose(1, 2)), matmul(x, plain_rows.transpose(1, 2)), 1e-3));
  const Tensor crossed = w.permute({2, 0, 1}), plain_crossed = plain.permute({2, 0, 1});
  const Tensor left = randn({256, 3, 6});
  EXPECT_TRUE(close(matmul(left, crossed), matmul(left, plain_crossed), 1e-3));
}

TEST(StoredProducts, GiveTheSameBitsForAnyNumberOfThreads) {
  manual_seed(5);
  const Tensor w = randn({300, 1024}).to(nf4);
  const int before = num_threads();
  for (const int64_t m : {1, 4, 33, 130}) {
    const Tensor x = randn({m, 1024});
    set_num_threads(1);
    const Tensor first = matmul(x, w.t());
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_TRUE(equal(matmul(x, w.t()), first)) << m << " rows, " << threads << " threads";
    }
  }
  set_num_threads(before);
}

// Counted where nothing is computed: a dry run asks for the same workspace.
TEST(StoredProducts, TakeLittleWorkspace) {
  const int before = num_threads();
  set_num_threads(2);
  for (const DType d : weights())
    for (const DType with : {f32, bf16})
      for (const int64_t m : {1, 2, 16, 128, 1024}) {
        if (with == bf16 && d.bits() >= 16) continue;
        const Tensor w = empty({4096, 4096}, d, meta), x = empty({m, 4096}, with, meta);
        for (const bool transposed : {true, false}) {
          if (!transposed && !d.is_scaled()) continue;
          reset_peak_memory_stats(meta);
          const int64_t live = memory_stats(meta).live[size_t(Category::workspace)];
          const Tensor y = transposed ? linear(x, w) : matmul(x, w);
          const int64_t most = memory_stats(meta).peak[size_t(Category::workspace)] - live;
          EXPECT_LT(most, 2 << 20) << d.name() << " beside " << with.name() << ", " << m << " rows, "
                                   << (transposed ? "w.T" : "w");
        }
      }
  set_num_threads(before);
}

// Of a stored table the rows that are looked up are read, in whatever order it lies.
TEST(StoredTables, GiveTheirDecodedRows) {
  manual_seed(6);
  const Tensor places = randint(192, {5, 7}, i64), apart = places.t();
  for (const DType d : weights()) {
    const Tensor w = randn({192, 512}).to(d), plain = w.dtype().is_blocked() ? w.to(f32) : w;
    EXPECT_TRUE(equal(embedding(w, places).to(plain.dtype()), embedding(plain, places))) << d.name();
    EXPECT_TRUE(equal(embedding(w, apart).to(plain.dtype()), embedding(plain, apart))) << d.name();
    const Tensor turned = randn({512, 256}).to(d);  // rows are whole blocks
    EXPECT_TRUE(equal(embedding(turned.t(), places).to(f32), embedding(turned.to(f32).t(), places))) << d.name();
    reset_peak_memory_stats(cpu);
    const int64_t live = memory_stats(cpu).live[size_t(Category::workspace)];
    EXPECT_THROW(embedding(w, full({3}, 192, i64)), Error) << d.name();
    const Tensor rows = embedding(w, places);
    const int64_t most = memory_stats(cpu).peak[size_t(Category::workspace)] - live;
    // Packed floats are results too: those are encoded from a decoded copy of themselves, in pages of 4 KB.
    EXPECT_LE(most, d.is_blocked() && !d.is_scaled() ? 35 * 512 * 4 + 4096 : 0) << d.name();
  }
}

}  // namespace
}  // namespace dyadic::inline v1
