// safetensors files made to do harm: each rule of the format broken by hand, then a few hundred broken at random.
#include <gtest/gtest.h>

#include "base/random.h"
#include "io/safetensors.h"
#include "tests/io/helpers.h"

namespace dyadic {
namespace {

using testing::error_of;
using testing::Folder;
using testing::read_bytes;
using testing::safetensors_bytes;

io::SafeTensors read_memory(const std::string& bytes) {
  auto read = [&](void* target, uint64_t offset, size_t n) { std::memcpy(target, bytes.data() + offset, n); };
  return io::read_safetensors({"m", bytes.size(), read});
}
std::string reason(const std::string& header, const std::string& data = "") {
  return error_of([&] { read_memory(safetensors_bytes(header, data)); });
}

TEST(HostileSafetensors, FrameAndHeader) {
  EXPECT_EQ(error_of([] { read_memory("abc"); }), "m: too short: 3 bytes, the header's length alone takes 8");
  EXPECT_EQ(error_of([] { read_memory(std::string(8, '\xff')); }),
            "m: header: 18446744073709551615 bytes long; the limit is 100000000");
  EXPECT_EQ(error_of([] { read_memory(std::string("\x10\0\0\0\0\0\0\0{}", 10)); }),
            "m: header: 16 bytes long, the file has 2 behind its length");
  EXPECT_EQ(reason(""), "m: header: it does not begin with an opening brace");
  EXPECT_EQ(reason(" {}"), "m: header: it does not begin with an opening brace");
  EXPECT_EQ(reason("\xef\xbb\xbf{}"), "m: header: it does not begin with an opening brace");
  EXPECT_EQ(reason("{"), "m: header: not JSON at byte 10");
  EXPECT_EQ(reason("{} x"), "m: header: not JSON at byte 12");
  EXPECT_EQ(reason(std::string("{}\0 more", 8)), "m: header: not JSON at byte 10");
  EXPECT_EQ(reason("{\"a\xff\":1}"), "m: header: not JSON at byte 12");
  EXPECT_EQ(reason("{}", "left over"), "m: data: the last 9 of 9 bytes belong to no tensor");
  EXPECT_EQ(reason("{}   "), "no error");
}

TEST(HostileSafetensors, Structure) {
  EXPECT_EQ(reason(R"({"x":5})"), "m: header: entry \"x\" is a number, not an object");
  EXPECT_EQ(reason(R"({"x":[]})"), "m: header: entry \"x\" is a list, not an object");
  EXPECT_EQ(reason(R"({"__metadata__":null})"), "m: header: entry \"__metadata__\" is null, not an object");
  EXPECT_EQ(reason(R"({"__metadata__":{"a":1}})"), "m: metadata: the value of \"a\" is a number, not a text");
  EXPECT_EQ(reason(R"({"__metadata__":{"a":{}}})"), "m: metadata: the value of \"a\" is an object, not a text");
  EXPECT_EQ(reason(R"({"__metadata__":{"a":"1","a":"2"}})"), "m: metadata: the key \"a\" is there twice");
  EXPECT_EQ(reason(R"({"__metadata__":{},"__metadata__":{}})"), "m: header: __metadata__ is there twice");
  EXPECT_EQ(reason(R"({"x":{}})"), "m: tensor \"x\": dtype is missing");
  EXPECT_EQ(reason(R"({"x":{"dtype":"F32"}})"), "m: tensor \"x\": shape is missing");
  EXPECT_EQ(reason(R"({"x":{"dtype":"F32","shape":[]}})"), "m: tensor \"x\": data_offsets is missing");
  EXPECT_EQ(reason(R"({"x":{"dtype":"F32","dtype":"F32"}})"), "m: tensor \"x\": dtype is there twice");
  EXPECT_EQ(reason(R"({"x":{"colour":"red"}})"), "m: tensor \"x\": unknown field \"colour\"");
  EXPECT_EQ(reason(R"({"x":{"dtype":7}})"), "m: tensor \"x\": dtype is a number");
  EXPECT_EQ(reason(R"({"x":{"dtype":"F9_E4M4"}})"),
            "m: tensor \"x\": dtype \"F9_E4M4\" is not one this version reads: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL U16 U32 "
            "U64 C64 "
            "F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ F6_E2M3 F6_E3M2 F4");
  EXPECT_EQ(reason(R"({"x":{"shape":{}}})"), "m: tensor \"x\": shape is an object");
  EXPECT_EQ(reason(R"({"x":{"shape":[-1]}})"), "m: tensor \"x\": shape is a negative number");
  EXPECT_EQ(reason(R"({"x":{"shape":[1.5]}})"), "m: tensor \"x\": shape is not a whole number");
  EXPECT_EQ(reason(R"({"x":{"shape":[[1]]}})"), "m: tensor \"x\": shape is a list");
  EXPECT_EQ(reason(R"({"x":{"shape":[18446744073709551615]}})"), "m: tensor \"x\": shape: 18446744073709551615 is too large");
  EXPECT_EQ(reason(R"({"x":{"shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}})"),
            "m: tensor \"x\": shape: more than 16 dimensions");
  EXPECT_EQ(reason(R"({"x":{"data_offsets":[1]}})"), "m: tensor \"x\": data_offsets: 1 numbers, not two");
  EXPECT_EQ(reason(R"({"x":{"data_offsets":[1,2,3]}})"), "m: tensor \"x\": data_offsets: more than two numbers");
  std::string deep = R"({"x":{"shape":)" + std::string(100000, '[');
  EXPECT_EQ(reason(deep), "m: tensor \"x\": shape is a list");
  EXPECT_EQ(reason("{\"x\":" + std::string(100000, '{')), "m: header: not JSON at byte 15");
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

TEST(HostileSafetensors, Offsets) {
  const std::string eight(8, '\0');
  EXPECT_EQ(reason("{" + entry("x", "F32", "2", "0,8") + "," + entry("x", "F32", "0", "8,8") + "}", eight),
            "m: tensor \"x\": the name is there twice");
  EXPECT_EQ(reason("{" + entry("x", "F32", "3", "0,12") + "}", eight),
            "m: tensor \"x\": data_offsets [0, 12] lie outside of the 8 bytes of data");
  EXPECT_EQ(reason("{" + entry("x", "F32", "2", "8,0") + "}", eight),
            "m: tensor \"x\": data_offsets [8, 0] lie outside of the 8 bytes of data");
  EXPECT_EQ(reason("{" + entry("x", "F32", "3", "0,8") + "}", eight),
            "m: tensor \"x\": F32 [3] takes 12 bytes, data_offsets [0, 8] hold 8");
  EXPECT_EQ(reason("{" + entry("x", "F32", "", "0,8") + "}", eight),
            "m: tensor \"x\": F32 [] takes 4 bytes, data_offsets [0, 8] hold 8");
  EXPECT_EQ(reason("{" + entry("x", "F32", "0", "0,8") + "}", eight),
            "m: tensor \"x\": F32 [0] takes 0 bytes, data_offsets [0, 8] hold 8");
  EXPECT_EQ(reason("{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "1", "4,8") + "}", eight),
            "m: tensor \"b\": data_offsets [4, 8] overlap another tensor's, which end at 8");
  EXPECT_EQ(reason("{" + entry("a", "F32", "1", "4,8") + "}", eight),
            "m: tensor \"a\": bytes 0 to 4 before it belong to no tensor");
  EXPECT_EQ(reason("{" + entry("a", "F32", "1", "0,4") + "}", eight), "m: data: the last 4 of 8 bytes belong to no tensor");
  // 2^62 * 4 elements are 0 modulo 2^64; a dimension of 0 doesn't excuse the others.
  EXPECT_EQ(reason("{" + entry("a", "F32", "4611686018427387904,4", "0,8") + "}", eight),
            "m: tensor \"a\": shape: too large, [4611686018427387904, 4]");
  EXPECT_EQ(reason("{" + entry("a", "F32", "0,4611686018427387904,4", "0,0") + "}", eight),
            "m: tensor \"a\": shape: too large, [0, 4611686018427387904, 4]");
  EXPECT_EQ(reason("{" + entry("a", "BOOL", "8", "0,8") + "}", std::string("\0\1\0\2\0\0\0\0", 8)),
            "m: tensor \"a\": BOOL byte 3 is 2, neither 0 nor 1");
  EXPECT_EQ(reason("{" + entry("\\u001b[31m", "F32", "3", "0,8") + "}", eight),
            "m: tensor \"\\x1b[31m\": F32 [3] takes 12 bytes, data_offsets [0, 8] hold 8");
}

// A scaled tensor's file with one thing changed in its description.
std::string scaled_reason(const std::string& scaled, const std::string& version = "1", const std::string& plain = "plain") {
  std::string escaped;
  for (char c : scaled) escaped += c == '"' ? "\\\"" : std::string(1, c);
  const std::string header = R"({"__metadata__":{"dyadic.format":")" + version + R"(","dyadic.scaled":")" + escaped + "\"}," +
                             entry(plain, "F32", "0", "36,36") + "," + entry("w.codes", "U8", "32", "4,36") + "," +
                             entry("w.absmax", "F32", "1", "0,4") + "}";
  return reason(header, std::string(36, '\0'));
}

std::string one(const std::string& dtype, const std::string& sizes) {
  return R"({"w":{"dtype":")" + dtype + "\"," + sizes + "}}";
}

TEST(HostileSafetensors, ScaledTensors) {
  auto nf4_reason = [](const std::string& sizes) { return scaled_reason(one("nf4(block=64)", sizes)); };
  EXPECT_EQ(nf4_reason(R"("rows":1,"cols":64,"shape":[64])"), "no error");
  EXPECT_EQ(nf4_reason(R"("rows":8,"cols":8,"shape":[2,4,8],"permute":[2,0,1])"), "no error");
  EXPECT_EQ(scaled_reason(one("nf4(block=64)", R"("rows":1,"cols":64,"shape":[64])"), "1", "w"),
            "m: tensor \"w\": it is both a plain and a scaled tensor");
  EXPECT_EQ(scaled_reason("{}", "2"), "m: written by a newer version: its format is 2, this one reads up to 1; update Dyadic");
  EXPECT_EQ(scaled_reason("{}", "x"), "m: metadata: dyadic.format is \"x\", not a version");
  EXPECT_EQ(scaled_reason("["), "m: metadata: dyadic.scaled is not JSON of the expected form");
  EXPECT_EQ(scaled_reason(std::string(50000, '[')), "m: metadata: dyadic.scaled is not JSON of the expected form");
  EXPECT_EQ(scaled_reason("[]"), "m: metadata: dyadic.scaled is not an object");
  EXPECT_EQ(scaled_reason(R"({"w":1})"), "m: tensor \"w\": its entry of dyadic.scaled is not an object");
  EXPECT_EQ(scaled_reason(R"({"w":{"rows":1,"cols":64,"shape":[64]}})"), "m: tensor \"w\": dtype is missing in dyadic.scaled");
  EXPECT_EQ(scaled_reason(one("f32", R"("rows":1,"cols":64,"shape":[64])")), "m: tensor \"w\": f32 is not a blocked dtype");
  EXPECT_EQ(nf4_reason(R"("cols":64,"shape":[64])"), "m: tensor \"w\": rows is missing or no size in dyadic.scaled");
  EXPECT_EQ(nf4_reason(R"("rows":-1,"cols":64,"shape":[64])"), "m: tensor \"w\": rows is missing or no size in dyadic.scaled");
  EXPECT_EQ(nf4_reason(R"("rows":72057594037927936,"cols":64,"shape":[64])"), "m: tensor \"w\": rows times cols is too large");
  EXPECT_EQ(nf4_reason(R"("rows":5,"cols":0,"shape":[0])"), "m: tensor \"w\": rows of no elements");
  EXPECT_EQ(nf4_reason(R"("rows":2,"cols":64,"shape":[64])"),
            "m: tensor \"w\": its codes are U8 [32]; nf4(block=64) [2, 64] has U8 [64]");
  EXPECT_EQ(nf4_reason(R"("rows":1,"cols":64,"shape":[63])"), "m: tensor \"w\": shape [63] does not make 64 elements");
  for (const char* permute : {"0,0", "1", "1,2", "0,1,2"}) {
    std::string text;
    for (const char* c = permute; *c; ++c) text += *c == ',' ? std::string(", ") : std::string(1, *c);
    EXPECT_EQ(nf4_reason(fmt::format(R"("rows":1,"cols":64,"shape":[4,16],"permute":[{}])", permute)),
              "m: tensor \"w\": permute [" + text + "] is no permutation");
  }
  EXPECT_EQ(scaled_reason(R"({"v":{"dtype":"nf4","rows":1,"cols":64,"shape":[64]}})"),
            "m: tensor \"v\": its codes are missing");
  EXPECT_EQ(scaled_reason(one("q8_0", R"("rows":1,"cols":33,"shape":[33])")).substr(0, 15), "m: tensor \"w\": ");
  EXPECT_EQ(scaled_reason(one("nf4(block=999999999999)", R"("rows":1,"cols":64,"shape":[64])")).substr(0, 15),
            "m: tensor \"w\": ");
}

// Any bytes either load or raise ValueError; nothing else, and the sanitizers see the rest.
TEST(HostileSafetensors, MutatedFiles) {
  Folder folder;
  manual_seed(5);
  io::save_safetensors(folder / "seed",
                       {{"x", randn({3, 5})},
                        {"w", randn({4, 64}).to(nf4).t()},
                        {"mask", tensor({1, 0, 1}, boolean)},
                        {"i", randn({2, 64}).to(i4_group32)}},
                       {{"a", "b"}});
  const std::string seed = read_bytes(folder / "seed");
  uint64_t length = 0;
  std::memcpy(&length, seed.data(), 8);
  constexpr char kLikely[] = "{}[]\",:0123456789-.e\\\"truefalsnul ";
  int loaded = 0, refused = 0;
  for (uint64_t round = 0; round < 600; ++round) {
    std::string bytes = seed;
    auto draw = [&, i = uint64_t(0)](uint64_t bound) mutable { return random_below(17, round, i++, bound); };
    for (uint64_t k = 1 + draw(6); k > 0; --k) {
      const size_t at = draw(4) ? size_t(8 + draw(length)) : size_t(draw(bytes.size()));
      const uint64_t how = draw(5);
      if (at >= bytes.size()) continue;
      if (how == 0) bytes[at] = char(draw(256));
      if (how == 1) bytes[at] = kLikely[draw(sizeof kLikely - 1)];
      if (how == 2) bytes.erase(at, size_t(1 + draw(4)));
      if (how == 3) bytes.insert(at, 1, kLikely[draw(sizeof kLikely - 1)]);
      if (how == 4) bytes.insert(at, bytes.substr(size_t(draw(bytes.size())), size_t(draw(40))));
      if (bytes.empty()) break;
    }
    if (draw(2) && bytes.size() >= 8) {  // keep the frame right, so that the damage reaches further in
      const uint64_t data = seed.size() - 8 - length, header = bytes.size() - 8 > data ? bytes.size() - 8 - data : 0;
      std::memcpy(bytes.data(), &header, 8);
    }
    try {
      read_memory(bytes);
      ++loaded;
    } catch (const ValueError& e) {
      ++refused;
      EXPECT_EQ(std::string(e.what()).substr(0, 3), "m: ");
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(loaded, 5);  // damage to values alone, which a plain file can't notice
}

}  // namespace
}  // namespace dyadic
