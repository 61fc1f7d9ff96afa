// DType: texts and their grammar, interning, properties, planes.
#include "dyadic/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <set>
#include <thread>

#include "dyadic/error.h"
#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

// Before main: the constants and parse() work in any file's static initialization.
const std::string kEarly = nf4.name() + " " + DType::parse("bfloat16").name() + " " + bf16.name();

std::string error_of(const std::string& text) {
  try {
    DType::parse(text);
  } catch (const ValueError& e) { return e.what(); }
  return "no error";
}

TEST(DType, UsableBeforeMain) { EXPECT_EQ(kEarly, "nf4(block=64,double) bf16 bf16"); }

TEST(DType, Names) {
  std::vector<std::string> names, files;
  for (DType d : registered_dtypes()) names.push_back(d.format()->def->name);
  const std::vector<const FormatDef*> records = testing::formats_by_isa().front();
  for (const FormatDef* def : records) files.push_back(def->name);
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(sorted, files);  // every file, once
  names.resize(5);
  EXPECT_EQ(names, (std::vector<std::string>{"f64", "f32", "f16", "bf16", "f8e3m4"}));  // wide first, then precise
  EXPECT_EQ(bf16.long_name(), "bfloat16");
  EXPECT_EQ(f8e4m3fn.long_name(), "float8_e4m3fn");
  EXPECT_EQ(boolean.long_name(), "bool");
  EXPECT_EQ(DType().name(), "none");
  EXPECT_FALSE(DType());
}

TEST(DType, TextsRoundTrip) {
  for (DType d : registered_dtypes()) {
    EXPECT_EQ(DType::parse(d.name()), d) << d.name();
    EXPECT_EQ(DType::parse(d.long_name()), d) << d.long_name();
  }
  // Canonical text of what may be written.
  const std::pair<const char*, const char*> texts[] = {
      {"nf4", "nf4(block=64,double)"},
      {"nf4(block=64)", "nf4(block=64)"},
      {"nf4(double)", "nf4(block=64,double)"},
      {" nf4( double , block = 128 ) ", "nf4(block=128,double)"},
      {"fp4", "fp4(block=64)"},
      {"fp4(block=128,double)", "fp4(block=128,double)"},
      {"i8", "i8"},
      {"i8(row)", "i8(row)"},
      {"i8(tensor)", "i8(tensor)"},
      {"i8(scale=f16,group=64)", "i8(group=64,scale=f16)"},
      {"i8(scale=bf16)", "i8(row,scale=bf16)"},
      {"i4", "i4"},
      {"i4(group=32)", "i4(group=32)"},
      {"int4", "i4"},
      {"float8_e4m3fn", "f8e4m3fn"},
      {"i4(zero)", "i4(group=32,zero)"},
      {"i4(group=128,scale=float16,zero)", "i4(group=128,zero,scale=f16)"},
      {"i4(row,scale=f32)", "i4(row)"},
      {"dynamic8", "dynamic8(block=256)"},
      {"udynamic8(block=2048)", "udynamic8(block=2048)"},
      {"q4_0", "q4_0"},
      {"aqlm", "aqlm(codebooks=2,bits=8)"},
      {"aqlm(scale=f16, codebooks=3)", "aqlm(codebooks=3,bits=8,scale=f16)"},
      {"aqlm(bits=5)", "aqlm(codebooks=2,bits=5)"},
      {"float32", "f32"},
  };
  for (auto [written, canonical] : texts) {
    EXPECT_EQ(DType::parse(written).name(), canonical);
    EXPECT_EQ(DType::parse(canonical), DType::parse(written));
  }
}

TEST(DType, BadTexts) {
  EXPECT_EQ(error_of("bf17"), "dtype: no such format: text is \"bf17\"; did you mean bf16? \"dyadic formats\" lists all");
  for (const char* text : {"", "complicated"}) {
    const std::string said = error_of(text);
    EXPECT_EQ(said.find("dtype: no such format: text is \"" + std::string(text) + "\"; the nearest are "), 0u) << said;
    EXPECT_LT(said.size(), 150u) << said;
  }
  EXPECT_EQ(error_of("bf16(row)"), "dtype: bf16 has no options: text is \"bf16(row)\"; write bf16");
  EXPECT_EQ(error_of("nf4(block=64"),
            "dtype: the closing parenthesis is missing: text is \"nf4(block=64\"; nf4 takes block=N, double");
  EXPECT_EQ(error_of("nf4(group=64)"),
            "dtype: nf4 has no option \"group=64\": text is \"nf4(group=64)\"; nf4 takes block=N, double");
  EXPECT_EQ(
      error_of("nf4(block=63)"),
      "dtype: \"block=63\" needs an even number from 2 to 16777216: text is \"nf4(block=63)\"; nf4 takes block=N, double");
  EXPECT_EQ(error_of("i4(row,group=32)"),
            "dtype: row, tensor, group and tile exclude each other: text is \"i4(row,group=32)\"; i4 takes row, "
            "tensor, group=N, zero, scale=f16|bf16|f32");
  EXPECT_EQ(error_of("i8(row,row)"),
            "dtype: option \"row\" stands twice: text is \"i8(row,row)\"; i8 takes row, tensor, group=N, zero, "
            "scale=f16|bf16|f32");
  EXPECT_EQ(error_of("q8_0(group=32)"), "dtype: q8_0 has no option \"group=32\": text is \"q8_0(group=32)\"; q8_0 takes none");
  for (const char* text :
       {"dynamic8(block=0)", "dynamic8(block=-4)", "dynamic8(block=)", "dynamic8(block=1e3)", "dynamic8(block=99999999999)"})
    EXPECT_NE(error_of(text).find("needs a number from 1 to 16777216"), std::string::npos) << text;
  EXPECT_EQ(error_of("aqlm(codebooks=5)"),
            "dtype: \"codebooks=5\" needs a number from 1 to 4: text is \"aqlm(codebooks=5)\"; aqlm takes codebooks=N, bits=N, "
            "scale=f16|bf16|f32");
  EXPECT_NE(error_of("aqlm(bits=9)").find("\"bits=9\" needs a number from 1 to 8"), std::string::npos);
  for (const char* text : {"nf4()", "nf4(block)", "nf4(,)", "nf4(double,)", "i8(scale=i8)", "i8(row=1)", "i8(scale=)"})
    EXPECT_NE(error_of(text).find("is not understood"), std::string::npos) << text << ": " << error_of(text);
}

TEST(DType, Properties) {
  EXPECT_TRUE(bf16.is_floating_point());
  EXPECT_FALSE(nf4.is_floating_point());
  EXPECT_TRUE(u8.is_integer());
  EXPECT_FALSE(boolean.is_integer());
  EXPECT_TRUE(i8_row.is_scaled());
  EXPECT_FALSE(i8.is_scaled());
  EXPECT_EQ(bf16.itemsize(), 2);
  EXPECT_EQ(boolean.itemsize(), 1);
  EXPECT_EQ(i64.itemsize(), 8);
  EXPECT_EQ(nf4.bits(), 4);
  EXPECT_EQ(f64.bits(), 64);
  EXPECT_EQ(DType::parse("aqlm").bits(), 2);
  EXPECT_EQ(DType::parse("aqlm(codebooks=3,bits=5)").bits(), 1.875);
  try {
    nf4.itemsize();
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(),
                 "itemsize: an element has no bytes of its own: dtype is nf4(block=64,double); use bits() or the "
                 "tensor's nbytes");
  }
}

TEST(DType, ConstantsAreTheDefaults) {
  EXPECT_EQ(nf4, DType::parse("nf4"));
  EXPECT_EQ(fp4, DType::parse("fp4"));
  EXPECT_EQ(i8_row, DType::parse("i8(row)"));
  EXPECT_EQ(i4_group32, DType::parse("i4(group=32)"));
  EXPECT_EQ(q8_0, DType::parse("q8_0"));
  EXPECT_EQ(q4_0, DType::parse("q4_0"));
  EXPECT_EQ(dynamic8, DType::parse("dynamic8"));
  EXPECT_EQ(udynamic8, DType::parse("udynamic8"));
  EXPECT_EQ(float32, f32);
}

TEST(DType, InterningIsThreadSafe) {
  std::vector<std::vector<DType>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got)
    threads.emplace_back([&mine] {
      for (int block = 2; block < 400; block += 2) mine.push_back(DType::parse("nf4(block=" + std::to_string(block) + ")"));
    });
  for (auto& t : threads) t.join();
  std::set<const Format*> different;
  for (DType d : got[0]) different.insert(d.format());
  EXPECT_EQ(different.size(), 199u);
  for (const auto& mine : got) EXPECT_EQ(mine, got[0]);
}

// name, rows, cols -> planes as "name dtype bytes", and all bytes.
std::string planes_of(const char* name, Geometry g) {
  const Format& f = *DType::parse(name).format();
  const PlaneList list = f.def->planes(f, g);
  std::string text;
  int64_t sum = 0;
  for (int i = 0; i < list.count; ++i) {
    const Plane& p = list.plane[size_t(i)];
    text += std::string(i ? ", " : "") + p.name + " " + p.dtype->text + " " + std::to_string(p.bytes);
    sum += p.bytes;
    EXPECT_EQ(p.offset % 16, 0);
    EXPECT_LE(p.offset + p.bytes, i + 1 < list.count ? list.plane[size_t(i) + 1].offset : list.buffer_bytes);
  }
  EXPECT_EQ(sum, list.bytes);
  return text;
}

TEST(DType, Planes) {
  EXPECT_EQ(planes_of("nf4", {3, 100}), "codes u8 150, absmax u8 5, nested_absmax f32 4, nested_offset f32 4");
  EXPECT_EQ(planes_of("nf4", {512, 64}), "codes u8 16384, absmax u8 512, nested_absmax f32 8, nested_offset f32 4");
  EXPECT_EQ(planes_of("fp4", {3, 33}), "codes u8 50, absmax f32 8");
  EXPECT_EQ(planes_of("i8(row)", {3, 100}), "codes i8 300, scales f32 12");
  EXPECT_EQ(planes_of("i4(group=32)", {3, 101}), "codes u8 153, scales f32 48");
  EXPECT_EQ(planes_of("i4(group=64,scale=f16,zero)", {3, 101}), "codes u8 153, scales f16 12, zeros i8 6");
  EXPECT_EQ(planes_of("i8(tensor)", {3, 100}), "codes i8 300, scales f32 4");
  EXPECT_EQ(planes_of("i8(tensor)", {0, 100}), "codes i8 0, scales f32 4");
  EXPECT_EQ(planes_of("i8(row)", {3, 0}), "codes i8 0, scales f32 0");
  EXPECT_EQ(planes_of("dynamic8", {1, 257}), "codes u8 257, absmax f32 8");
  EXPECT_EQ(planes_of("q8_0", {3, 64}), "blocks u8 204");
  EXPECT_EQ(planes_of("q4_0", {3, 64}), "blocks u8 108");
  EXPECT_EQ(planes_of("q4_0", {0, 64}), "blocks u8 0");
  try {
    planes_of("q4_0", {3, 100});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "q4_0: rows are whole blocks of 32: the last dimension is 100; pad it to 128 or pick i4(group=32)");
  }
}

}  // namespace
}  // namespace dyadic
