// Codes and scales by name, and bytes seen as another dtype.
#include "dyadic/planes.h"

#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "formats/format.h"

namespace dyadic {
namespace {

std::string names(const Tensor& t) {
  std::string s;
  for (auto& [name, plane] : planes(t)) s += name + " " + plane.dtype().name() + " " + std::to_string(plane.numel()) + ", ";
  return s;
}
int64_t bytes(const Tensor& t) {
  int64_t n = 0;
  for (auto& [name, plane] : planes(t)) n += plane.nbytes();
  return n;
}
template <class F> std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(Planes, AreTheWholeOfIt) {
  manual_seed(1);
  const Tensor x = randn({6, 256});
  EXPECT_EQ(names(x), "values f32 1536, ");
  EXPECT_EQ(names(x.to(q4_K)), "blocks u8 864, ");
  EXPECT_EQ(names(x.to(i4_group32)), "codes u8 768, scales f32 48, ");
  EXPECT_EQ(names(x.to(nvfp4)), "codes u8 768, scales f8e4m3fn 96, tensor_scale f32 1, ");
  EXPECT_EQ(names(x.to(f6e2m3fn)), "codes u8 1152, ");
  for (DType d : registered_dtypes()) {
    if (!d.format()->can_encode()) continue;
    const Tensor t = x.to(d);
    EXPECT_EQ(bytes(t), t.nbytes()) << d.name();
  }
  EXPECT_NE(error_of([&] { planes(x.t()); }).find("use clone() first"), std::string::npos);
  EXPECT_NE(error_of([&] { planes(x[0]); }).find("use clone() first"), std::string::npos);
}

TEST(Planes, ShareTheMemoryAndKeepIt) {
  Tensor x = zeros({2, 3});
  std::vector<std::pair<std::string, Tensor>> p = planes(x);
  p[0].second.fill_(4);
  EXPECT_EQ(x[1][2].item(), 4);
  x = Tensor();
  EXPECT_EQ(p[0].second[5].item(), 4);
  Tensor q = ones({4, 32}).to(i8_row);
  std::vector<std::pair<std::string, Tensor>> parts = planes(q);
  parts[1].second.mul_(scalar_tensor(2.0));  // all scales
  EXPECT_EQ(q.to(f32)[3][31].item(), 2);
  q = Tensor();
  EXPECT_EQ(parts[0].second.numel(), 128);
}

TEST(ViewAs, PlainDtypes) {
  const Tensor x = arange(0, 6).to(f32).view({2, 3});
  EXPECT_EQ(view_as(x, i32)[0][1].item(), 0x3f800000);
  const Tensor b = view_as(x, u8);
  EXPECT_EQ(b.size(1), 12);
  EXPECT_EQ(b[0][7].item(), 0x3f);
  EXPECT_EQ(view_as(b, f32)[1][2].item(), 5);
  EXPECT_EQ(view_as(x[1], i16).size(0), 6);
  EXPECT_EQ(view_as(x.t(), i32)[1][0].item(), 0x3f800000);
  EXPECT_NE(error_of([&] { view_as(x.t(), u8); }).find("do not lie side by side"), std::string::npos);
  EXPECT_EQ(error_of([&] { view_as(x, f64); }),
            "view: the bytes are not whole elements: self is f32[2, 3], dtype f64 has 8 bytes an element");
  Tensor y = zeros({4}, f16);
  view_as(y, u8).fill_(0x3c);  // the same storage, the same version
  EXPECT_GT(y.version(), 0u);
  EXPECT_EQ(view_as(y, u16)[3].item(), 0x3c3c);
}

TEST(ViewAs, BytesOfBlocks) {
  manual_seed(2);
  for (DType d : {q4_K, q8_0, iq4_nl, mxfp4, tq2_0, f6e3m2fn, f4e2m1fn, u4, u1}) {
    const Tensor t = (randn({3, 512}) * 3.0).to(d);
    const Tensor raw = view_as(t, u8);
    EXPECT_EQ(raw.numel(), t.nbytes()) << d.name();
    EXPECT_EQ(raw.size(0), 3) << d.name();
    const Tensor again = view_as(raw.clone(), d);
    EXPECT_EQ(again.size(1), 512) << d.name();
    EXPECT_TRUE(all(eq(again.to(f32), t.to(f32))).item() != 0) << d.name();
  }
  EXPECT_EQ(error_of([&] { view_as(zeros({2, 100}, u8), q4_K); }),
            "view: the last dimension is not whole blocks: self is u8[2, 100]; q4_K has 144 bytes a block");
  EXPECT_NE(error_of([&] { view_as(zeros({2, 100}), q4_K); }).find("only the bytes of a uint8 tensor"), std::string::npos);
  EXPECT_NE(error_of([&] { view_as(zeros({2, 100}, u8), nf4); }).find("several planes"), std::string::npos);
}

}  // namespace
}  // namespace dyadic
