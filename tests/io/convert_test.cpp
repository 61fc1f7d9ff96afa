// io::convert, and the comparing that it reports by.
#include "dyadic/convert.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/format.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

using testing::content;
using testing::error_of;
using testing::Folder;
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Convert, ComparesValues) {
  const Tensor a = tensor({1.0, 2.0, NAN, kInf}, f32);
  EXPECT_TRUE(io::compare(a, a.to(f64)).exact);
  const io::Difference d = io::compare(a, tensor({1.0, 2.5, NAN, kInf}, f32));
  EXPECT_FALSE(d.exact);
  EXPECT_EQ(d.different, 1);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.rmse, 0.25);
  EXPECT_EQ(io::compare(a, tensor({1.0, 2.0, 3.0, kInf}, f32)).max_abs, kInf);
  EXPECT_EQ(io::compare(a, tensor({1.0, 2.0, NAN, -kInf}, f32)).max_abs, kInf);
  EXPECT_TRUE(io::compare(zeros({0, 3}), zeros({0, 3})).exact);
  EXPECT_NE(error_of([&] { io::compare(a, zeros({2, 2})); }), "no error");
  manual_seed(1);
  const Tensor x = randn({700, 700}), y = x.to(bf16);  // more than one piece
  const double rms = std::sqrt(mean(square(x.to(f64) - y.to(f64))).item());
  EXPECT_NEAR(io::compare(x, y).rmse, rms, 1e-12);
  // Blocked ones by rows, where their blocks end with them: in tiles, of one scale, in blocks that reach over rows.
  const Tensor rows = randn({700, 1100});
  for (const char* format : {"i8(row)", "i8(tensor)", "f8e4m3fn(tile=128x128)", "nf4(block=64)", "i4(group=32)", "u4"}) {
    const Tensor b = rows.to(DType::parse(format)), values = b.to(f32);
    EXPECT_EQ(io::compare(rows, b).max_abs, io::compare(rows, values).max_abs) << format;
    EXPECT_EQ(io::compare(b, rows.to(i8)).different, io::compare(values, rows.to(i8)).different) << format;
    EXPECT_EQ(io::statistics(b).std, io::statistics(values).std) << format;
  }
  EXPECT_TRUE(io::compare(rows.to(nf4), rows.to(nf4).to(f32)).exact);
  EXPECT_EQ(io::compare(x, y).max_abs, max(abs(x.to(f64) - y.to(f64))).item());
}

TEST(Convert, CountsWhatAValueIs) {
  const io::Statistics s = io::statistics(tensor({-2.0, 0.0, 2.0, 2.0, NAN, kInf, -kInf}, f32));
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(s.mean, 0.5);
  EXPECT_NEAR(s.std, std::sqrt((6.25 + 0.25 + 2.25 + 2.25) / 4), 1e-15);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.infinities, 2);
  ASSERT_EQ(s.histogram.size(), 16u);
  EXPECT_EQ(s.histogram[0], 1);
  EXPECT_EQ(s.histogram[8], 1);
  EXPECT_EQ(s.histogram[15], 2);
  EXPECT_TRUE(std::isnan(io::statistics(zeros({0})).mean));
  EXPECT_EQ(io::statistics(tensor({-1.7e308, 1.7e308}, f64)).histogram[15], 1);
  EXPECT_EQ(io::statistics(full({5}, 3.0)).histogram[0], 5);
}

TEST(Convert, FormatsByRuleAndWhatStays) {
  Folder folder;
  manual_seed(2);
  const Tensor w = randn({4, 256}).to(bf16);
  const io::NamedTensors all = {
      {"w", w}, {"tied", w}, {"odd", randn({4, 33})}, {"norm", ones({256})}, {"ids", arange(5)}, {"head.w", randn({4, 256})}};
  io::save(folder / "a.safetensors", all, {.metadata = {{"note", "kept"}}});
  const auto source = io::open(folder / "a.safetensors");
  const auto report = io::convert(*source, folder / "b.safetensors", {.format = q8_0, .map = {{"head.*", "f16"}}});
  const auto back = io::open(folder / "b.safetensors");
  EXPECT_EQ(back->metadata(), R"({"format":"pt","note":"kept"})");
  ASSERT_EQ(report.size(), all.size());
  const auto of = [&](const std::string& name) {
    for (const io::Converted& c : report)
      if (c.name == name) return c;
    return io::Converted{};
  };
  EXPECT_EQ(of("w").to, q8_0);
  EXPECT_EQ(of("tied").to, q8_0);
  EXPECT_EQ(back->same_as(5), 0u);
  EXPECT_EQ(content(back->get("w")), content(w.to(q8_0)));
  EXPECT_EQ(of("w").difference.max_abs, io::compare(w, w.to(q8_0)).max_abs);
  EXPECT_GT(of("w").difference.max_abs, 0);
  EXPECT_EQ(of("odd").to, f32);
  EXPECT_NE(of("odd").kept, "");
  EXPECT_EQ(of("norm").to, f32);
  EXPECT_TRUE(of("norm").difference.exact);
  EXPECT_EQ(of("ids").to, i64);
  EXPECT_EQ(of("head.w").to, f16);
  try {
    io::convert(*source, folder / "c.safetensors", {.map = {{"haed.*", "f16"}}});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "convert: no tensor of what is written is called \"haed.*\"; names are such as \"w\"");
  }
  EXPECT_FALSE(fs::exists(folder / "c.safetensors"));
}

TEST(Convert, FromKindToKind) {
  Folder folder;
  manual_seed(4);
  const io::NamedTensors all = {{"w", randn({4, 64})}, {"h", randn({3}).to(f16)}, {"n", arange(5)}, {"x", zeros({0, 2})}};
  io::save(folder / "a.safetensors", all);
  std::string last = folder / "a.safetensors";
  for (const char* name : {"b.npz", "c.pt", "d.gguf", "e.safetensors"}) {
    for (const io::Converted& c : io::convert(*io::open(last), folder / name, {})) EXPECT_TRUE(c.difference.exact) << name;
    last = folder / name;
    const auto file = io::open(last);
    for (const auto& [key, t] : all) EXPECT_EQ(content(file->get(key)), content(t)) << name << " " << key;
  }
  io::convert(*io::open(last), folder / "q.gguf", {.format = q8_0});
  EXPECT_EQ(content(io::open(folder / "q.gguf")->get("w")), content(all[0].second.to(q8_0)));
  EXPECT_NE(error_of([&] { io::save(folder / "p.npz", all, {.max_shard_size = 10}); }), "no error");
}

TEST(Convert, OneArrayBecomesNpy) {
  Folder folder;
  const Tensor t = arange(0, 6, f32).reshape({2, 3});
  io::save(folder / "one.safetensors", {{"x", t}});
  io::save(folder / "two.safetensors", {{"x", t}, {"y", t + 1}});
  const auto all = io::convert(*io::open(folder / "one.safetensors"), folder / "x.npy", {.format = f64});
  EXPECT_TRUE(all.at(0).difference.exact);
  EXPECT_TRUE(equal(io::open(folder / "x.npy")->get(size_t(0)), t.to(f64)));
  try {
    io::convert(*io::open(folder / "two.safetensors"), folder / "y.npy", {});
    FAIL();
  } catch (const ValueError& e) { EXPECT_STREQ(e.what(), "save: a .npy file has one array, and there are 2; write .npz"); }
}

TEST(Convert, GgufKeepsItsKeys) {
  Folder folder;
  const auto source = io::open(test_data("io/data/metadata.gguf"));
  io::convert(*source, folder / "m.gguf", {});
  const auto before = nlohmann::json::parse(source->metadata()),
             after = nlohmann::json::parse(io::open(folder / "m.gguf")->metadata());
  EXPECT_EQ(after, before);
}

TEST(Convert, ThereAndBackIsExactWhereTheFormatsAllowIt) {
  Folder folder;
  manual_seed(3);
  io::save(folder / "a.safetensors",
           {{"a", randn({8, 64}).to(bf16)}, {"b", randn({8, 64}).to(nf4)}, {"c", randn({3}).to(f16)}});
  for (const io::Converted& c : io::convert(*io::open(folder / "a.safetensors"), folder / "b.safetensors", {.format = f32}))
    EXPECT_TRUE(c.difference.exact) << c.name;
  EXPECT_EQ(io::open(folder / "b.safetensors")->get("b").dtype(), f32);
  io::convert(*io::open(folder / "b.safetensors"), folder / "c.safetensors", {.map = {{"a", "bf16"}, {"?", "f16"}}});
  const auto a = io::open(folder / "a.safetensors"), c = io::open(folder / "c.safetensors");
  EXPECT_EQ(content(a->get("a")), content(c->get("a")));
  EXPECT_EQ(content(a->get("c")), content(c->get("c")));
  EXPECT_NE(error_of([&] { io::convert(*a, folder / "d.safetensors", {.map = {{"zzz", "f99"}}}); }), "no error");
  EXPECT_FALSE(std::filesystem::exists(folder / "d.safetensors"));
}

}  // namespace
}  // namespace dyadic
