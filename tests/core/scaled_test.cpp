// Scaled formats as ordinary dtypes: conversion, transposes, products and their gradients, slices, at a ragged shape.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dyadic/autograd.h"
#include "dyadic/device.h"
#include "dyadic/io.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

const char* const kFormats[] = {"nf4", "nf4(block=64)", "fp4", "i4(group=32)", "i8(row)", "dynamic8"};

class Scaled : public testing::TestWithParam<const char*> {
 protected:
  DType dtype = DType::parse(GetParam());
  Tensor dense = (manual_seed(7), randn({65, 100}));
  Tensor w = dense.to(dtype);
};

double largest_difference(const Tensor& a, const Tensor& b) { return amax(abs(sub(a.to(f64), b.to(f64)))).item(); }
std::string scaled_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST_P(Scaled, RoundTripIsClose) {
  EXPECT_EQ(w.dtype(), dtype);
  EXPECT_EQ(w.sizes().vec(), (std::vector<int64_t>{65, 100}));
  EXPECT_LT(w.nbytes(), dense.nbytes() / 3);
  double error = std::sqrt(mean(square(sub(w.to(f32), dense))).item());
  EXPECT_GT(error, 0);
  EXPECT_LT(error, dtype.bits() > 4 ? 0.02 : 0.2);
}

TEST_P(Scaled, TransposeAndSlicesReadTheSameValues) {
  Tensor plain = w.to(f32);
  EXPECT_EQ(largest_difference(w.t().to(f32), plain.t()), 0);
  EXPECT_TRUE(w.t().dtype() == dtype);
  if (dtype.name().find("group") != std::string::npos || dtype.name().find("row") != std::string::npos) {
    EXPECT_EQ(largest_difference(slice(w, 0, 3, 40).to(f32), slice(plain, 0, 3, 40)), 0);
    EXPECT_EQ(largest_difference(select(w, 0, 64).to(f32), select(plain, 0, 64)), 0);
  }
}

TEST_P(Scaled, ACutBlockIsRefusedWithTheWayOut) {
  std::string text = scaled_error([&] { slice(w, 1, 1, 50); });
  EXPECT_NE(text.find("a block would be cut"), std::string::npos) << text;
  EXPECT_NE(text.find(".to(f32)"), std::string::npos) << text;
}

TEST_P(Scaled, ProductAndItsGradientEqualThoseOfTheDecodedValues) {
  Tensor x = randn({7, 100}).requires_grad_(), x2 = x.detach().clone().requires_grad_();
  Tensor y = matmul(x, w.t()), y2 = matmul(x2, w.to(f32).t());
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(largest_difference(y, y2), 0);
  Tensor g = randn({7, 65});
  y.backward(g);
  y2.backward(g);
  EXPECT_EQ(largest_difference(x.grad(), x2.grad()), 0);
  EXPECT_EQ(largest_difference(linear(x.detach(), w), linear(x.detach(), w.to(f32))), 0);
}

TEST_P(Scaled, NeverWinsPromotionAndAsksForNoGradient) {
  EXPECT_EQ((w + w).dtype(), f32);
  EXPECT_EQ((w + dense.to(bf16)).dtype(), bf16);
  EXPECT_EQ((w * 2).dtype(), f32);
  std::string text = scaled_error([&] { Tensor(w).requires_grad_(); });
  EXPECT_NE(text.find("QAT"), std::string::npos) << text;
  EXPECT_NE(text.find("LoRA"), std::string::npos) << text;
}

TEST_P(Scaled, SavesAndLoadsTheSameBits) {
  std::string path = testing::TempDir() + "scaled.safetensors";
  io::save_safetensors(path, {{"w", w}});
  io::SafeTensors f = io::load_safetensors(path);
  ASSERT_EQ(f.tensors.size(), 1u);
  EXPECT_EQ(f.tensors[0].second.dtype(), dtype);
  EXPECT_EQ(largest_difference(f.tensors[0].second.to(f32), w.to(f32)), 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, Scaled, testing::ValuesIn(kFormats), [](const auto& p) {
  std::string name = p.param;
  for (char& c : name)
    if (!isalnum(c)) c = '_';
  return name;
});

TEST(ScaledBlocks, WholeBlocksSliceAlongTheBlockAxis) {
  manual_seed(1);
  Tensor w = randn({4, 128}).to(DType::parse("i4(group=32)"));
  EXPECT_EQ(largest_difference(slice(w, 1, 32, 96).to(f32), slice(w.to(f32), 1, 32, 96)), 0);
  EXPECT_THROW(slice(w, 1, 16, 96), ValueError);
}

TEST(GgufBlocks, AreOrdinaryDtypes) {
  manual_seed(2);
  Tensor dense = randn({6, 512}), x = randn({3, 512});
  for (DType d : {q4_K, q6_K, q3_K, iq4_xs, tq2_0}) {
    Tensor w = dense.to(d), plain = w.to(f32);
    EXPECT_EQ(largest_difference(matmul(x, w.t()), matmul(x, plain.t())), 0) << d.name();
    EXPECT_EQ(largest_difference(slice(w, 1, 256, 512).to(f32), slice(plain, 1, 256, 512)), 0) << d.name();
    EXPECT_EQ(largest_difference(slice(w, 0, 2, 5).to(f32), slice(plain, 0, 2, 5)), 0) << d.name();
    EXPECT_THROW(slice(w, 1, 32, 512), ValueError) << d.name();
  }
  EXPECT_EQ(scaled_error([&] { randn({6, 100}).to(q4_K); }),
            "q4_K: rows are whole blocks of 256: the last dimension is 100; pad it to 256 or pick i4(group=32)");
}

// Large tensors are encoded some rows at a time, whatever they come from; those of f32 as a whole.
TEST(GgufBlocks, LargeOnesGoPieceByPiece) {
  manual_seed(3);
  const Tensor dense = randn({4099, 1280}).to(bf16), whole = dense.to(f32);
  for (DType d : {q8_0, q4_0}) {
    const Tensor w = whole.to(d);
    EXPECT_EQ(largest_difference(dense.to(d), w), 0) << d.name();
    EXPECT_EQ(largest_difference(w.to(q4_1), w.to(f32).to(q4_1)), 0) << d.name();  // of blocks
    EXPECT_EQ(largest_difference(whole.t().contiguous().t().to(d), w), 0) << d.name();
    reset_peak_memory_stats();
    const int64_t before = memory_stats().total;
    dense.to(d);
    EXPECT_LT(memory_stats().total_peak - before, w.nbytes() + (20 << 20)) << d.name();
  }
}

TEST(GgufBlocks, DecodedOnly) {
  const std::string text = "iq2_xs cannot be encoded here: its codes come from files; use q2_K";
  for (Device device : {cpu, meta}) EXPECT_EQ(scaled_error([&] { empty({2, 256}, f32, device).to(iq2_xs); }), text);
  EXPECT_EQ(scaled_error([&] { full({2, 256}, 0.5, iq2_xs); }), text);
  Tensor w = empty({2, 256}, iq2_xs);
  std::memset(w.data_ptr(), 0x35, size_t(w.nbytes()));
  EXPECT_EQ(w.nbytes(), 2 * 74);
  EXPECT_EQ(largest_difference(w.clone(), w), 0);  // the same format: codes are copied
  EXPECT_GT(amax(abs(w.to(f32))).item(), 0);
  EXPECT_EQ(matmul(randn({3, 256}), w.t()).dtype(), f32);
}

}  // namespace
}  // namespace dyadic::inline v1
