// Tensors on a device: where they lie, how they come and go, what the host may ask of them. Run on the simulator
// (tests/CMakeLists.txt); skipped where there is no device.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "io/shared_memory.h"
#include "tensor/impl.h"
#include "tensor/resize.h"
#include "tests/cuda/on_device.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

class CudaTensor : public OnDevice {};

TEST(Cuda, SaysWhyThereIsNone) {
  if (cuda::is_available()) GTEST_SKIP() << "there is one";
  EXPECT_NE(cuda::why_unavailable().find("there is no cuda here"), std::string::npos);
  EXPECT_EQ(cuda::device_count(), 0);
  EXPECT_THROW(zeros({2}, f32, "cuda"), Error);
}

TEST_F(CudaTensor, ComesAndGoes) {
  for (const DType d : {f64, f32, f16, bf16, i64, i8, boolean, c64, f8e4m3fn}) {
    const Tensor t = randn({3, 5}).to(d), far = t.to(there), back = far.cpu();
    EXPECT_EQ(far.device(), there);
    EXPECT_EQ(far.device().str(), "cuda:0");
    EXPECT_TRUE(far.is_cuda() && !far.is_cpu());
    EXPECT_EQ(std::string(static_cast<const char*>(back.data_ptr()), size_t(back.nbytes())),
              std::string(static_cast<const char*>(t.data_ptr()), size_t(t.nbytes())))
        << d.name();
  }
  EXPECT_TRUE(equal(zeros({0, 3}).to(there).cpu(), zeros({0, 3})));
  EXPECT_EQ(full({}, 2.5).to(there).item(), 2.5);
}

TEST_F(CudaTensor, ViewsComeAsTheyAreSeen) {
  const Tensor t = arange(24.0).view({2, 3, 4}), far = t.to(there);
  EXPECT_TRUE(equal(far.permute({2, 0, 1}).cpu(), t.permute({2, 0, 1})));
  EXPECT_TRUE(equal(slice(far, 2, 1, 4, 2).cpu(), slice(t, 2, 1, 4, 2)));
  EXPECT_TRUE(equal(slice(t, 1, 0, 3, 2).to(there).cpu(), slice(t, 1, 0, 3, 2)));
  EXPECT_TRUE(equal(select(far, 0, 1).expand({5, 3, 4}).cpu(), select(t, 0, 1).expand({5, 3, 4})));
}

TEST_F(CudaTensor, BlockedFormatsComeWithTheirBytes) {
  const Tensor t = randn({8, 256});
  for (const char* name : {"q8_0", "q4_0", "q4_K", "nf4", "i4(group=32)", "mxfp4", "dynamic8", "i4", "f4e2m1fn"}) {
    const Tensor packed = t.to(DType::parse(name)), far = packed.to(there);
    EXPECT_TRUE(equal(far.cpu().to(f32), packed.to(f32))) << name;
    const CpuFallback by_host;  // not all of them are decoded there
    EXPECT_TRUE(equal(far.to(f32).cpu(), packed.to(f32))) << name;
    EXPECT_TRUE(equal(far.t().to(f32).cpu(), packed.t().to(f32))) << name;
  }
}

TEST_F(CudaTensor, CopiesBetweenDevicesConvert) {
  const Tensor here = randn({4, 6}), far = zeros({4, 6}, bf16, there);
  far.copy_(here);
  EXPECT_TRUE(equal(far.cpu(), here.to(bf16)));
  const Tensor strided = zeros({6, 4}).t();
  strided.copy_(far);
  EXPECT_TRUE(equal(strided, here.to(bf16).to(f32)));
  select(far, 0, 2).copy_(ones({6}));
  EXPECT_EQ(far[2].cpu().to_vector(), std::vector<double>(6, 1.0));
  far.fill_(3);
  EXPECT_EQ(far.sum().item(), 72);
}

TEST_F(CudaTensor, GradientsCrossDevices) {
  const Tensor w = randn({3}).requires_grad_();
  (w.to(there) * 2).sum().backward();
  EXPECT_EQ(w.grad().device(), Device());
  EXPECT_EQ(w.grad().to_vector(), std::vector<double>(3, 2.0));
  const Tensor far = randn({3}).to(there).requires_grad_();
  far.cpu().square().sum().backward();
  EXPECT_EQ(far.grad().device(), there);
  EXPECT_TRUE(equal(far.grad().cpu(), 2 * far.detach().cpu()));
}

TEST_F(CudaTensor, ItsMemoryGrowsThere) {
  const Tensor x = arange(6, TensorOptions().dtype(f32).device(there)), tail = x.narrow(0, 2, 4);
  resize("test", tail, {2, 5});
  EXPECT_EQ(tail.device(), there);
  EXPECT_TRUE(equal(tail.cpu().reshape({-1}).narrow(0, 0, 4), arange(2, 6, f32)));
  EXPECT_TRUE(equal(x.cpu(), arange(6, f32)));
  resize("test", tail, {3});
  EXPECT_TRUE(equal(tail.cpu(), arange(2, 5, f32)));
  io::share_memory(x);  // as PyTorch: nothing is done to memory of a device
  EXPECT_TRUE(equal(x.cpu(), arange(6, f32)));
}
TEST_F(CudaTensor, MixedDevicesAreRefusedAndNumbersAreNot) {
  const Tensor far = randn({3}).to(there), here = randn({3});
  EXPECT_THROW(far + here, Error);
  EXPECT_EQ((far + 1).device(), there);
  EXPECT_EQ((far * full({}, 2.0)).device(), there);
  EXPECT_EQ((full({}, 2.0) * far).device(), there);
}

TEST_F(CudaTensor, TheHostGetsNoPointerByMistake) {
  const Tensor far = randn({3}).to(there);
  try {
    far.impl()->data();
    FAIL() << "there is no data here";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "device: the host asks for the values of a tensor on cuda:0; bring it with .cpu() first");
  }
  EXPECT_THROW(far.data<float>(), Error);
  EXPECT_NE(cuda::data_ptr(far), nullptr);
  EXPECT_NE(far.str().find("device='cuda:0'"), std::string::npos);
}

TEST_F(CudaTensor, TheLedgerCountsEveryByte) {
  const int64_t before = memory_allocated(there), here = memory_allocated();
  {
    const Tensor t = zeros({1000, 1000}, f32, there);
    EXPECT_EQ(memory_allocated(there) - before, 4'001'792);  // 4,000,000 in pages of 4,096
    EXPECT_EQ(memory_allocated(), here);
  }
  EXPECT_EQ(memory_allocated(there), before);
  EXPECT_GE(cuda::memory_reserved(), 0);
  EXPECT_NE(memory_summary(there).find("cuda:0"), std::string::npos);
}

TEST_F(CudaTensor, WhatIsNotThereIsAnError) {
  EXPECT_THROW(zeros({int64_t(1) << 40}, f32, there), OutOfMemoryError);
  EXPECT_EQ(ones({4}, f32, there).sum().item(), 4);  // and nothing is lost
  EXPECT_THROW(Device("cuda:15"), Error);
  EXPECT_THROW(Device("cuda:x"), Error);
  set_memory_limit(1 << 20, there);
  EXPECT_THROW(zeros({1 << 20}, f32, there), OutOfMemoryError);
  set_memory_limit(0, there);
}

TEST_F(CudaTensor, IndicesOutOfRangeAreSaid) {
  const Tensor rows = randn({4, 2}).to(there), index = from_data(std::vector<int64_t>{1, 9}.data(), {2}, i64).to(there);
  try {
    index_select(rows, 0, index).cpu();
    FAIL() << "9 of 4";
  } catch (const IndexError& e) { EXPECT_NE(std::string(e.what()).find("index_select"), std::string::npos) << e.what(); }
  EXPECT_EQ(ones({4}, f32, there).sum().item(), 4);
}

TEST_F(CudaTensor, ModulesMoveWithTheirGradients) {
  nn::Linear layer(4, 3);
  layer.forward(randn({2, 4})).sum().backward();
  const Tensor weight = layer.weight.clone(), grad = layer.weight.grad().clone();
  layer.cuda();
  EXPECT_EQ(layer.weight.device(), there);
  EXPECT_TRUE(layer.weight.requires_grad() && layer.weight.is_leaf());
  EXPECT_TRUE(equal(layer.weight.cpu(), weight) && equal(layer.weight.grad().cpu(), grad));
  const Tensor x = randn({2, 4});
  const Tensor far = layer.forward(x.to(there)).cpu();
  layer.cpu();
  EXPECT_TRUE(allclose(far, layer.forward(x), 1e-5, 1e-6));
}

TEST_F(CudaTensor, TrainsAsTheHostDoes) {
  const auto train = [](Device device) {
    manual_seed(5);
    nn::Sequential model(
        {std::make_shared<nn::Linear>(16, 32), std::make_shared<nn::GELU>(), std::make_shared<nn::Linear>(32, 4)});
    const Tensor x = randn({64, 16}).to(device), y = randint(4, {64}).to(device);
    model.to(device);
    optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-2});
    double loss = 0;
    for (int step = 0; step < 20; ++step) {
      const Tensor l = cross_entropy(model(x), y);
      optimizer.zero_grad();
      l.backward();
      optim::clip_grad_norm_(model.named_parameters(), 1.0);
      optimizer.step();
      loss = l.item();
    }
    return loss;
  };
  const double here = train(cpu), far = train(there);
  EXPECT_LT(here, 1.3);
  EXPECT_NEAR(far, here, 1e-4);
  EXPECT_EQ(train(there), far);
}

TEST_F(CudaTensor, StreamsKeepTheirOrder) {
  const cuda::Stream other;
  const Tensor x = arange(1000.0).to(there);
  Tensor y;
  cuda::Event done;
  {
    other.wait_stream(cuda::Stream::current());
    const cuda::StreamGuard guard(other);
    y = x * 2;
    for (int i = 0; i < 10; ++i) y = y + 1;
    done.record();
  }
  done.wait();
  EXPECT_TRUE(equal((y + 0).cpu(), arange(1000.0) * 2 + 10));
  other.synchronize();
  EXPECT_TRUE(other.query() && done.query());
}

TEST_F(CudaTensor, FilesAreWrittenFromThere) {
  const std::string path = ::testing::TempDir() + "/there.safetensors";
  const Tensor t = randn({3, 4});
  io::save_safetensors(path, {{"t", t.to(there)}});
  const io::SafeTensors back = io::load_safetensors(path);
  EXPECT_TRUE(equal(back.tensors.at(0).second, t));
}

}  // namespace
}  // namespace dyadic
