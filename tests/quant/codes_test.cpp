// The codes of every format, found through its encoder and decoder.
#include "quant/codes.h"

#include <gtest/gtest.h>

#include "dyadic/dyadic.h"
#include "formats/format.h"

namespace dyadic::inline v1::quant {
namespace {

std::vector<DType> with_codes() {
  std::vector<DType> all;
  for (DType d : registered_dtypes())
    if (code_map(d)) all.push_back(d);
  for (const char* text : {"i4(row)", "i4(group=128)", "i4(group=32,zero)", "i8(tensor)", "i3(group=64)", "nf4(block=64)",
                           "i2(group=16,scale=f16)"})
    all.push_back(DType::parse(text));
  return all;
}

TEST(Codes, AreThereForAllButFormatsWhoseElementsShareBytes) {
  std::vector<std::string> without;
  for (DType d : registered_dtypes())
    if (d.is_scaled() && d.format()->can_encode() && !code_map(d)) without.push_back(d.name());
  EXPECT_EQ(without, (std::vector<std::string>{"q8_K", "aqlm(codebooks=2,bits=8)", "e8p", "tq1_0"}));
  EXPECT_EQ(code_map(f32), nullptr);
  EXPECT_EQ(code_map(iq2_xs), nullptr);
  EXPECT_EQ(code_map(i4_group32)->level.size(), 15u);  // -7 ... 7: two's complement has -8, the format does not
  EXPECT_EQ(code_map(q4_0)->level.size(), 16u);
  EXPECT_EQ(code_map(q6_K)->level.size(), 64u);
  EXPECT_EQ(code_map(nf4)->level.size(), 16u);
  EXPECT_TRUE(code_map(q3_K)->uniform);
  EXPECT_FALSE(code_map(nf4)->uniform);
}

TEST(Codes, OfAFormatsOwnValuesAreWhatTheyWere) {
  manual_seed(1);
  for (DType d : with_codes()) {
    const int64_t cols = d.format()->row_step() > 1 ? 512 : 515;
    const Tensor stored = randn({6, cols}).to(d), before = stored.to(f32);
    choose_codes(stored, before);
    EXPECT_TRUE(equal(stored.to(f32), before)) << d.name();
  }
}

// The encoder's codes are the nearest ones too, or it looked for something else; so ours are never further off.
TEST(Codes, AreTheNearest) {
  manual_seed(2);
  for (DType d : with_codes()) {
    const Tensor w = randn({6, 512}), stored = w.to(d);
    const Tensor theirs = abs(stored.to(f32) - w);
    choose_codes(stored, w);
    const Tensor ours = abs(stored.to(f32) - w);
    EXPECT_LE(max(ours - theirs).item(), 1e-5 * max(abs(w)).item()) << d.name();
    const Tensor all = randn({6, 512}) * 3;  // other values under the same scales: no code of a neighbour may have changed
    choose_codes(stored, all);
    const Affine a = affine_of(stored);
    const Tensor low = minimum(a.offset, a.offset + a.scale), high = maximum(a.offset, a.offset + a.scale);
    const Tensor nearest = minimum(maximum(all, low), high);
    const auto& level = code_map(d)->level;
    float gap = 0;
    for (size_t i = 1; i < level.size(); ++i) gap = std::max(gap, level[i] - level[i - 1]);
    EXPECT_LE(max(abs(stored.to(f32) - nearest) - abs(a.scale) * (gap / 2)).item(), 1e-4) << d.name();
  }
}

TEST(Codes, ColumnsThatShareScales) {
  EXPECT_EQ(own_columns(DType::parse("i4(group=128)"), 8, 512), 128);
  EXPECT_EQ(own_columns(DType::parse("i4(group=128)"), 8, 500), 0);  // the last group is shorter
  EXPECT_EQ(own_columns(DType::parse("i4(row)"), 8, 512), 512);
  EXPECT_EQ(own_columns(DType::parse("i8(tensor)"), 8, 512), 0);
  EXPECT_EQ(own_columns(DType::parse("nf4(block=64)"), 8, 512), 64);
  EXPECT_EQ(own_columns(nf4, 8, 512), 0);
  EXPECT_EQ(own_columns(nvfp4, 8, 512), 0);
  EXPECT_EQ(own_columns(q4_K, 8, 512), 256);
  EXPECT_EQ(own_columns(mxfp4, 8, 512), 32);
}

TEST(Codes, PiecesSideBySideAreTheWhole) {
  manual_seed(3);
  for (DType d : {DType::parse("i4(group=128,zero)"), DType::parse("nf4(block=64)"), q4_K, q8_0, mxfp6_e2m3,
                  DType::parse("i3(group=64)")}) {
    const Tensor w = randn({5, 512}), whole = w.to(d);
    const int64_t width = own_columns(d, 5, 512);
    std::vector<Tensor> pieces;
    for (int64_t i = 0; i < 512; i += width) pieces.push_back(narrow(w, 1, i, width).contiguous().to(d));
    EXPECT_TRUE(equal(join_columns(pieces).to(f32), whole.to(f32))) << d.name();
    const Tensor other = (w * 2).to(d), take = randn({5, 512 / width}) > 0.0;
    const Tensor merged = merge_runs(whole, other, take).to(f32).view({5, -1, width});
    EXPECT_TRUE(
        equal(merged, where(unsqueeze(take, 2), other.to(f32).view({5, -1, width}), whole.to(f32).view({5, -1, width}))))
        << d.name();
  }
}

}  // namespace
}  // namespace dyadic::inline v1::quant
