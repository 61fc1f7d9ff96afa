// GGUF files made to do harm: each rule of the format broken by hand, then whole files cut at every byte and altered at random.
#include "base/random.h"
#include "io/gguf.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using io::GgufFile;

constexpr uint64_t kHuge = ~uint64_t{0};

// A file piece by piece.
struct File {
  std::string bytes;
  template <class T> File& add(T v) {
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  File& text(std::string_view v) {
    add(uint64_t(v.size()));
    bytes += v;
    return *this;
  }
  File(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    bytes = "GGUF";
    add(version).add(tensors).add(keys);
  }
  File& key(std::string_view name, uint32_t type) { return text(name).add(type); }
  File& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    text(name).add(uint32_t(dims.size()));
    for (uint64_t d : dims) add(d);
    return add(type).add(offset);
  }
  File& data(size_t n) {
    bytes.resize((bytes.size() + 31) / 32 * 32 + n);
    return *this;
  }
};

std::string reason(const std::string& bytes) {
  return error_of([&] { io::parse_gguf(bytes, "m"); });
}
std::string reason(const File& f) { return reason(f.bytes); }

TEST(HostileGguf, Header) {
  EXPECT_EQ(reason(""), "m: header: it does not begin with \"GGUF\"");
  EXPECT_EQ(reason("GGU"), "m: header: it does not begin with \"GGUF\"");
  EXPECT_EQ(reason("GGML    "), "m: header: it does not begin with \"GGUF\"");
  EXPECT_EQ(reason("GGUF"), "m: header: 4 bytes expected, 0 are left (at byte 4)");
  EXPECT_EQ(reason(File(0, 0, 1)),
            "m: header: version 1, which llama.cpp gave up in 2023; versions 2 and 3 are read: convert it anew");
  EXPECT_EQ(reason(File(0, 0, 4)), "m: header: version 4; versions 2 and 3 are read");
  EXPECT_EQ(reason(File(0, 0, 0)), "m: header: version 0; versions 2 and 3 are read");
  EXPECT_EQ(reason(File(0, 0, 3u << 24)), "m: header: it is big-endian; only little-endian files are read");
  EXPECT_EQ(reason(File(0, 0)), "no error");
  EXPECT_EQ(reason(File(0, kHuge)),
            "m: header: 18446744073709551615 keys do not fit into the 0 bytes that are left (at byte 24)");
  EXPECT_EQ(reason(File(kHuge, 0)),
            "m: header: 18446744073709551615 tensors do not fit into the 0 bytes that are left (at byte 24)");
  EXPECT_EQ(reason(File(2, 0).tensor("x", {1}, 0, 0)),
            "m: header: 2 tensors do not fit into the 33 bytes that are left (at byte 24)");
}

TEST(HostileGguf, Keys) {
  EXPECT_EQ(reason(File(0, 1).add(kHuge).add(kHuge)),
            "m: header: a name of 18446744073709551615 bytes; the limit is 65535 (at byte 32)");
  EXPECT_EQ(reason(File(0, 1).add(uint64_t(100)).add(kHuge)), "m: header: 100 bytes expected, 8 are left (at byte 32)");
  EXPECT_EQ(reason(File(0, 1).key("k", 13).add(uint8_t(0))), "m: key \"k\": type 13 of a value is not known (at byte 37)");
  EXPECT_EQ(reason(File(0, 1).key("k", 12).add(uint32_t(0))),
            "m: key \"k\": 1 values of type float64 do not fit into the 4 "
            "bytes that are left (at byte 37)");
  EXPECT_EQ(reason(File(0, 1).key("k", 8).add(kHuge)),
            "m: key \"k\": 18446744073709551615 bytes expected, 0 are left (at byte 45)");
  EXPECT_EQ(reason(File(0, 1).key("k", 7).add(uint8_t(2))), "m: key \"k\": a bool of 2, neither 0 nor 1 (at byte 38)");
  EXPECT_EQ(reason(File(0, 2).key("k", 0).add(uint8_t(2)).key("k", 0).add(uint8_t(2))),
            "m: key \"k\": it is there twice (at byte 47)");
  EXPECT_EQ(reason(File(0, 1).key("k", 9).add(uint32_t(8)).add(kHuge)),
            "m: key \"k\": 18446744073709551615 values of type string do not fit into the 0 bytes that are left (at byte 49)");
  EXPECT_EQ(reason(File(0, 1).key("k", 9).add(uint32_t(10)).add(kHuge / 8 + 1)),  // times 8 it is 0
            "m: key \"k\": 2305843009213693952 values of type uint64 do not fit into the 0 bytes that are left (at byte 49)");
  EXPECT_EQ(reason(File(0, 1).key("k", 9).add(uint32_t(8)).add(uint64_t(2)).text("a").add(kHuge)),
            "m: key \"k\": 18446744073709551615 bytes expected, 0 are left (at byte 66)");
  EXPECT_EQ(reason(File(0, 1).key("k", 9).add(uint32_t(13)).add(uint64_t(0))),
            "m: key \"k\": type 13 of a value is not known (at byte 41)");
  EXPECT_EQ(reason(File(0, 1).key("a\x1b\"", 13).add(uint8_t(0))),
            "m: key \"a\\x1b\\\"\": type 13 of a value is not known (at byte 39)");
}

TEST(HostileGguf, Nesting) {
  const auto nested = [](int depth, uint64_t count = 1) {
    File f(0, 1);
    f.key("k", 9);
    for (int i = 0; i < depth; ++i) f.add(uint32_t(9)).add(uint64_t(1));
    return f.add(uint32_t(0)).add(count).add(uint8_t(5));
  };
  EXPECT_EQ(reason(nested(0)), "no error");
  EXPECT_EQ(reason(nested(1)), "no error");
  EXPECT_EQ(reason(nested(2)), "m: key \"k\": arrays nest more than one deep (at byte 61)");
  EXPECT_EQ(reason(nested(100000)), "m: key \"k\": arrays nest more than one deep (at byte 61)");
  EXPECT_EQ(reason(nested(1, kHuge)),
            "m: key \"k\": 18446744073709551615 values of type uint8 do not fit into the 1 bytes that are left (at byte 61)");
  EXPECT_EQ(reason(File(0, 1).key("k", 9).add(uint32_t(9)).add(kHuge)),
            "m: key \"k\": 18446744073709551615 values of type array do not fit into the 0 bytes that are left (at byte 49)");
}

TEST(HostileGguf, Alignment) {
  const auto of = [](auto v, uint32_t type) { return reason(File(0, 1).key("general.alignment", type).add(v)); };
  EXPECT_EQ(of(uint32_t(64), 4), "no error");
  EXPECT_EQ(of(uint32_t(1u << 31), 4), "no error");
  EXPECT_EQ(of(uint32_t(0), 4), "m: key \"general.alignment\": 0 is not a power of two (at byte 57)");
  EXPECT_EQ(of(uint32_t(24), 4), "m: key \"general.alignment\": 24 is not a power of two (at byte 57)");
  EXPECT_EQ(of(uint64_t(32), 10), "m: key \"general.alignment\": it is a uint64, not a uint32 (at byte 53)");
}

TEST(HostileGguf, Tensors) {
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, 0).data(16)), "no error");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, 0).data(15)),
            "m: tensor \"x\": its 16 bytes lie at 0 of the data, which has 15 from byte 64 on");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, 0)),
            "m: tensor \"x\": its 16 bytes lie at 0 of the data, which has 0 from byte 64 on");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, 32).data(32)),
            "m: tensor \"x\": its 16 bytes lie at 32 of the data, which has 32 from byte 64 on");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, kHuge - 31).data(32)),
            "m: tensor \"x\": its 16 bytes lie at 18446744073709551584 of the data, which has 32 from byte 64 on");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {4}, 0, 8).data(32)),
            "m: tensor \"x\": its offset 8 is not a multiple of 32 (at byte 57)");
  EXPECT_EQ(reason(File(2, 0).tensor("x", {1}, 0, 0).tensor("x", {1}, 0, 32).data(64)),
            "m: tensor \"x\": the name is there twice (at byte 66)");
  EXPECT_EQ(reason(File(2, 0).tensor("x", {16}, 0, 0).tensor("y", {1}, 0, 32).data(64)),
            "m: tensor \"y\": it begins at byte 128, within tensor \"x\", which ends at 160");
  EXPECT_EQ(reason(File(2, 0).tensor("x", {1}, 0, 0).tensor("y", {1}, 0, 0).data(64)).substr(0, 11), "m: tensor \"");
  EXPECT_EQ(reason(File(2, 0).tensor("x", {0}, 0, 0).tensor("y", {1}, 0, 0).data(64)), "no error");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {33}, 2, 0).data(64)),
            "m: tensor \"x\": rows of Q4_0 are whole blocks of 32: the last dimension is 33 (at byte 49)");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {}, 2, 0).data(64)),
            "m: tensor \"x\": rows of Q4_0 are whole blocks of 32: the last dimension is 1 (at byte 41)");
}

TEST(HostileGguf, Shapes) {
  EXPECT_EQ(reason(File(1, 0).tensor("x", {kHuge}, 0, 0).data(16)),
            "m: tensor \"x\": a dimension of 18446744073709551615 is too large (at byte 45)");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {1ull << 32, 1ull << 32}, 0, 0).data(16)),  // the product is 0
            "m: tensor \"x\": its shape [4294967296, 4294967296] is too large (at byte 57)");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {0, 1ull << 62, 1ull << 62}, 0, 0).data(16)),
            "m: tensor \"x\": its shape [4611686018427387904, 4611686018427387904, 0] is too large (at byte 65)");
  EXPECT_EQ(reason(File(1, 0).tensor("x", {1ull << 56}, 15, 0).data(16)),
            "m: tensor \"x\": its 82190693199511552 bytes lie at 0 of the data, which has 16 from byte 64 on");
  EXPECT_EQ(reason(File(1, 0).tensor("x", std::vector<uint64_t>(17, 1), 0, 0).data(16)),
            "m: tensor \"x\": 17 dimensions; 16 is the most (at byte 37)");
  EXPECT_EQ(reason(File(1, 0).tensor("x", std::vector<uint64_t>(16, 1), 0, 0).data(16)), "no error");
  File f(1, 0);
  f.text("x").add(~uint32_t{0}).add(kHuge).add(kHuge);
  EXPECT_EQ(reason(f), "m: tensor \"x\": 4294967295 dimensions; 16 is the most (at byte 37)");
}

// Types that no dtype holds can be listed, not read.
TEST(HostileGguf, UnknownTypes) {
  Folder folder;
  write_bytes(folder / "x.gguf",
              File(3, 0).tensor("a", {32}, 9, 0).tensor("b", {32}, 77, 64).tensor("c", {7}, 31, 64).data(128).bytes);
  const auto file = GgufFile::open(folder / "x.gguf");
  EXPECT_EQ(file->tensors()[0].stored, "Q8_1");
  EXPECT_EQ(file->tensors()[0].bytes, 36u);
  EXPECT_EQ(file->tensors()[1].stored, "type 77");
  EXPECT_FALSE(file->tensors()[1].dtype);
  EXPECT_EQ(error_of([&] { file->get("a"); }), folder / "x.gguf" + ": tensor \"a\": ggml's Q8_1 is no dtype here");
  EXPECT_EQ(error_of([&] { file->get("b"); }), folder / "x.gguf" + ": tensor \"b\": ggml's type 77 is no dtype here");
  EXPECT_EQ(error_of([&] { file->get("c"); }), folder / "x.gguf" + ": tensor \"c\": ggml's Q4_0_4_4 is no dtype here");
  const auto get = [&](size_t i) { return file->get(i); };
  EXPECT_EQ(error_of([&] { io::save_gguf(folder / "y.gguf", file->tensors(), get); }),
            "save_gguf: tensor \"a\": no dtype here holds its Q8_1; leave it out");
}

// Scales of NVFP4 have no sign and no NaN: ggml reads 127 as 0 and passes over the highest bit.
TEST(HostileGguf, Nvfp4Scales) {
  Folder folder;
  const auto of = [&](std::array<int, 4> scales) {
    File f(1, 0);
    f.tensor("x", {64}, io::kNvfp4, 0).data(36);
    for (size_t i = 0; i < 36; ++i) f.bytes[f.bytes.size() - 36 + i] = i < 4 ? char(scales[i]) : '\x72';  // e2m1: 1 and 6
    write_bytes(folder / "x.gguf", f.bytes);
    return GgufFile::open(folder / "x.gguf");
  };
  const auto file = of({0x38, 0x7f, 0xb8, 0x7e});  // 1, none, 1, 448
  const Tensor got = file->get(0).to(f32);
  const float* y = static_cast<const float*>(got.data_ptr());
  const float scale[] = {1, 0, 1, 448};
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], scale[i / 16] * (i % 16 < 8 ? 1.0f : 6.0f)) << i;
  EXPECT_EQ(error_of([&] { of({0, 0, 255, 0})->get(0); }),
            folder / "x.gguf" + ": tensor \"x\": scale 2 is byte 255, which no writer makes of a number");
}

TEST(HostileGguf, SplitsThatLie) {
  Folder folder;
  const auto of = [&](auto count, uint32_t type) {
    write_bytes(folder / "x.gguf", File(0, 1).key("split.count", type).add(count).bytes);
    const std::string text = error_of([&] { GgufFile::open(folder / "x.gguf"); });
    return text.substr(std::min(text.size(), (folder / "").size()));
  };
  EXPECT_EQ(of(uint16_t(1), 2), "");
  EXPECT_EQ(of(uint16_t(0), 2), "x.gguf: key \"split.count\": 0 is no number of parts");
  EXPECT_EQ(of(int32_t(-5), 5), "x.gguf: key \"split.count\": -5 is no number of parts");
  EXPECT_EQ(of(kHuge, 10), "x.gguf: key \"split.count\": 18446744073709551615 is too large (at byte 55)");
  EXPECT_EQ(of(uint64_t(1) << 40, 10), "x.gguf: key \"split.count\": 1099511627776 is no number of parts");
  EXPECT_EQ(of(1.0f, 6), "x.gguf: key \"split.count\": it is of type float32, not an integer (at byte 47)");
  const auto part = [&](int i, int32_t total) {
    File f(1, 3);
    f.key("split.no", 2).add(uint16_t(i)).key("split.count", 2).add(uint16_t(2));
    f.key("split.tensors.count", 5).add(total).tensor("x", {1}, 0, 0).data(4);
    write_bytes(io::gguf_part_path(folder / "y", i, 2), f.bytes);
  };
  part(0, 2), part(1, 2);
  EXPECT_EQ(error_of([&] { GgufFile::open(io::gguf_part_path(folder / "y", 0, 2)); }),
            folder / "y-00001-of-00002.gguf" + ": tensor \"x\": two parts have it");
}

// Whatever the bytes are: a file or one ValueError, and all that is in the file can be asked for.
void use(const std::string& path) {
  try {
    const auto file = GgufFile::open(path);
    file->metadata();
    for (const io::GgufKey& k : file->keys()) try {
        file->value(k.name);
        if (k.of == io::GgufType::string && k.type == io::GgufType::array) file->strings(k.name);
      } catch (const ValueError&) {}
    for (size_t i = 0; i < file->tensors().size(); ++i) try {
        file->get(i).to(f32);
      } catch (const ValueError&) {}
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
  }
}

TEST(HostileGguf, CutAtEveryByte) {
  const std::string whole = read_bytes(test_data("io/data/metadata.gguf"));
  size_t read = 0;
  for (size_t n = 0; n < whole.size(); ++n) read += reason(std::string(whole, 0, n)) == "no error";
  EXPECT_LE(read, 64u);  // the padding of the last tensor
}

TEST(HostileGguf, AlteredBytes) {
  Folder folder;
  const std::string path = folder / "x.gguf";
  for (const char* name : {"metadata.gguf", "types.gguf"}) {
    const std::string whole = read_bytes(test_data(std::string("io/data/") + name));
    for (uint64_t round = 0; round < 100; ++round) {
      std::string bytes = whole;
      const size_t head = std::min<size_t>(bytes.size(), 7000);
      auto draw = [&, i = uint64_t(0)](uint64_t bound) mutable { return random_below(17, round, i++, bound); };
      for (uint64_t k = 0; k <= round % 3; ++k) {
        char& at = bytes[draw(head)];
        at = round % 2 ? char(draw(256)) : char(at ^ 1 << draw(8));
      }
      write_bytes(path, bytes);
      use(path);
    }
  }
}

}  // namespace
}  // namespace dyadic::testing
