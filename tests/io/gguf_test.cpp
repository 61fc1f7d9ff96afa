// GGUF files: those of the reference (data/make_gguf_files.py) are read as it reads them and written back byte for byte; what
// is written comes back.
#include "dyadic/gguf.h"

#include <cmath>

#include "dyadic/planes.h"
#include "io/gguf.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using io::GgufArray;
using io::GgufFile;
using io::GgufMetadata;
using io::GgufOptions;
using io::GgufValue;
using io::NamedTensors;
using io::save_gguf;

std::shared_ptr<GgufFile> stored(const std::string& name) { return GgufFile::open(test_data("io/data/" + name)); }
NamedTensors all_of(const io::TensorFile& file) {
  NamedTensors all;
  for (size_t i = 0; i < file.tensors().size(); ++i) all.emplace_back(file.tensors()[i].name, file.get(i));
  return all;
}

TEST(Gguf, EveryTypeIsRead) {
  const std::shared_ptr<GgufFile> file = stored("types.gguf");
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->alignment(), 32u);
  int compared = 0;
  for (const io::TensorInfo& info : file->tensors()) {
    const Tensor t = file->get(info.name);
    EXPECT_EQ(t.dtype(), info.dtype) << info.name;
    EXPECT_EQ(shape_text(t.sizes()), "[2, 256]") << info.name;
    EXPECT_EQ(uint64_t(t.nbytes()), info.name == "NVFP4" ? info.bytes + 4 : info.bytes) << info.name;  // a scale of the tensor
    EXPECT_EQ(t.impl()->storage->read_only, info.name != "NVFP4") << info.name;
    if (info.name.ends_with(".values")) continue;
    EXPECT_EQ(info.stored, info.name);
    if (!file->has(info.name + ".values")) continue;
    const Tensor got = t.to(f32), want = file->get(info.name + ".values");
    const float* g = static_cast<const float*>(got.data_ptr());
    const float* w = static_cast<const float*>(want.data_ptr());
    for (int64_t i = 0; i < 512; ++i)  // numpy's order of operations differs by a rounding or two
      ASSERT_NEAR(g[i], w[i], std::fabs(w[i]) * 0x1p-22) << info.name << " " << i;
    ++compared;
  }
  EXPECT_EQ(compared, 31);
}

TEST(Gguf, WritesWhatTheReferenceWrites) {
  Folder folder;
  for (const char* name : {"types.gguf", "metadata.gguf"}) {
    const std::shared_ptr<GgufFile> file = stored(name);
    EXPECT_EQ(save_gguf(folder / name, all_of(*file), file->values()), folder / name);
    EXPECT_TRUE(read_bytes(folder / name) == read_bytes(file->path())) << name;
  }
  const std::shared_ptr<GgufFile> split = stored("split-00001-of-00003.gguf");
  GgufOptions options;
  options.max_bytes = 128;
  EXPECT_EQ(save_gguf(folder / "split.gguf", all_of(*split), split->values(), options), folder / "split-00001-of-00003.gguf");
  for (int64_t part = 0; part < 3; ++part)
    EXPECT_TRUE(read_bytes(io::gguf_part_path(folder / "split", part, 3)) ==
                read_bytes(io::gguf_part_path(test_data("io/data/split"), part, 3)))
        << part;
  EXPECT_EQ(folder.files(), 5u);
}

TEST(Gguf, EveryTypeOfValueIsRead) {
  const std::shared_ptr<GgufFile> file = stored("metadata.gguf");
  EXPECT_EQ(file->alignment(), 64u);
  EXPECT_EQ(file->value("value.u8"), GgufValue(uint8_t(255)));
  EXPECT_EQ(file->value("value.i8"), GgufValue(int8_t(127)));
  EXPECT_EQ(file->value("value.u16"), GgufValue(uint16_t(65535)));
  EXPECT_EQ(file->value("value.i16"), GgufValue(int16_t(32767)));
  EXPECT_EQ(file->value("value.u32"), GgufValue(~uint32_t{0}));
  EXPECT_EQ(file->value("value.i32"), GgufValue(int32_t(0x7fffffff)));
  EXPECT_EQ(file->value("value.f32"), GgufValue(INFINITY));
  EXPECT_EQ(file->value("value.bool"), GgufValue(true));
  EXPECT_EQ(file->value("value.string"), GgufValue(std::string("a longer text with a \n line")));
  EXPECT_EQ(file->value("value.u64"), GgufValue(~uint64_t{0}));
  EXPECT_EQ(file->value("value.i64"), GgufValue(INT64_MAX));
  EXPECT_EQ(file->value("value.f64"), GgufValue(1e300));
  EXPECT_EQ(file->value("array.u8"), GgufValue(GgufArray(std::vector<uint8_t>{0, 7, 255})));
  EXPECT_EQ(file->value("array.i8"), GgufValue(GgufArray(std::vector<int8_t>{-128, -1, 127})));
  EXPECT_EQ(file->value("array.i16"), GgufValue(GgufArray(std::vector<int16_t>{-32768, 32767})));
  EXPECT_EQ(file->value("array.f32"), GgufValue(GgufArray(std::vector<float>{0.1f, -3.4e38f, INFINITY})));
  EXPECT_EQ(file->value("array.bool"), GgufValue(GgufArray(std::vector<bool>{true, false, true})));
  EXPECT_EQ(file->value("array.i64"), GgufValue(GgufArray(std::vector<int64_t>{INT64_MIN, INT64_MAX})));
  EXPECT_EQ(file->value("array.f64"), GgufValue(GgufArray(std::vector<double>{0.1, 1e300})));
  EXPECT_EQ(file->value("array.string"),
            GgufValue(GgufArray(std::vector<std::string>{"", "é", "a longer text with a \n line"})));
  EXPECT_EQ(file->value("nested"),
            GgufValue(std::vector<GgufArray>{std::vector<int32_t>{1, 2, 3}, std::vector<std::string>{"x", "yz"}}));
}

TEST(Gguf, ValuesAreAskedForByKind) {
  const std::shared_ptr<GgufFile> file = stored("metadata.gguf");
  const std::string key = file->path() + ": key ";
  const auto starts = [&](auto f, const std::string& want) {
    const std::string got = error_of(f);
    EXPECT_TRUE(got.starts_with(key + want)) << got;
  };
  EXPECT_EQ(file->integer("value.u16"), 65535);
  EXPECT_EQ(file->integer("value.i64"), INT64_MAX);
  EXPECT_EQ(file->number("value.f64"), 1e300);
  EXPECT_EQ(file->number("value.u8"), 255);
  EXPECT_EQ(file->text("general.architecture"), "none");
  starts([&] { file->integer("value.u64"); }, "\"value.u64\": 18446744073709551615 is too large (at byte ");
  starts([&] { file->integer("value.f32"); }, "\"value.f32\": it is of type float32, not an integer (at byte ");
  starts([&] { file->integer("value.bool"); }, "\"value.bool\": it is of type bool, not an integer (at byte ");
  starts([&] { file->integer("array.u8"); }, "\"array.u8\": it is of type array, not an integer (at byte ");
  starts([&] { file->number("value.string"); }, "\"value.string\": it is of type string, not an integer (at byte ");
  starts([&] { file->text("value.u8"); }, "\"value.u8\": it is of type uint8, not a string (at byte ");
  starts([&] { file->strings("array.u8"); },
         "\"array.u8\": it is not an array of strings but of type array of uint8 (at byte ");
  starts([&] { file->strings("value.u8"); }, "\"value.u8\": it is not an array of strings but of type uint8 (at byte ");
  starts([&] { file->numbers("tokens"); }, "\"tokens\": it is not an array of numbers but of type array of string (at byte ");
  starts([&] { file->numbers("value.f64"); }, "\"value.f64\": it is not an array of numbers but of type float64 (at byte ");
  EXPECT_EQ(error_of([&] { file->value("token"); }), file->path() + ": no key \"token\"; nearest there: tokens");
  EXPECT_TRUE(file->has_key("tokens"));
  EXPECT_FALSE(file->has_key("token"));

  const std::vector<std::string_view> tokens = file->strings("tokens");
  ASSERT_EQ(tokens.size(), 300u);
  EXPECT_EQ(tokens[0], "token 0");
  EXPECT_EQ(tokens[299], "token 299");
  EXPECT_EQ(file->numbers("array.f64").dtype(), f64);
  EXPECT_EQ(static_cast<const double*>(file->numbers("array.f64").data_ptr())[1], 1e300);
  EXPECT_EQ(file->numbers("array.bool").dtype(), boolean);
  const Tensor wide = file->numbers("array.u64");
  EXPECT_EQ(static_cast<const uint64_t*>(wide.data_ptr())[1], ~uint64_t{0});

  const std::string json = file->metadata();
  EXPECT_NE(json.find("\"tokens\":{\"count\":300,\"type\":\"string\"}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"array.i8\":[-128,-1,127]"), std::string::npos) << json;
}

TEST(Gguf, ShapesAreInPyTorchsOrder) {
  const std::shared_ptr<GgufFile> file = stored("metadata.gguf");
  EXPECT_EQ(shape_text(file->get("scalar").sizes()), "[]");
  EXPECT_EQ(file->get("scalar").item<float>(), 2.5f);
  EXPECT_EQ(shape_text(file->get("line").sizes()), "[5]");
  EXPECT_EQ(shape_text(file->get("four").sizes()), "[2, 3, 4, 5]");
  EXPECT_TRUE(content(file->get("four")) == content(arange(120, f32).reshape({2, 3, 4, 5})));
  EXPECT_EQ(shape_text(file->get("empty").sizes()), "[0, 3]");
}

TEST(Gguf, AnyFileIsOpenedByWhatIsInIt) {
  Folder folder;
  fs::copy(test_data("io/data/types.gguf"), folder / "weights.bin");
  const std::shared_ptr<io::TensorFile> file = io::open(folder / "weights.bin");
  EXPECT_EQ(file->kind(), "gguf");
  const Tensor t = file->get("Q4_K");
  EXPECT_TRUE(t.impl()->storage->read_only);
}

TEST(Gguf, VersionTwoIsTheSame) {
  Folder folder;
  std::string bytes = read_bytes(test_data("io/data/metadata.gguf"));
  bytes[4] = 2;
  write_bytes(folder / "two.gguf", bytes);
  const std::shared_ptr<GgufFile> file = GgufFile::open(folder / "two.gguf");
  EXPECT_EQ(file->version(), 2u);
  EXPECT_EQ(file->values(), stored("metadata.gguf")->values());
}

TEST(Gguf, Parts) {
  Folder folder;
  const std::shared_ptr<GgufFile> file = stored("split-00001-of-00003.gguf");
  ASSERT_EQ(file->tensors().size(), 5u);
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(content(file->get(size_t(i))) == content(arange(8 * (i + 1), f16))) << i;
  const auto copy = [&](int part, const std::string& as) {
    fs::copy(io::gguf_part_path(test_data("io/data/split"), part, 3), folder / as, fs::copy_options::overwrite_existing);
    return folder / as;
  };
  const auto message = [&](const std::string& path) {
    const std::string text = error_of([&] { io::open(path); });
    return text.starts_with(folder / "") ? text.substr((folder / "").size()) : text;
  };
  copy(0, "a-00001-of-00003.gguf");
  EXPECT_EQ(message(folder / "a-00001-of-00003.gguf"), "a-00002-of-00003.gguf: cannot be opened: No such file or directory");
  copy(1, "a-00002-of-00003.gguf");
  copy(1, "a-00003-of-00003.gguf");
  EXPECT_EQ(message(folder / "a-00001-of-00003.gguf"),
            "a-00003-of-00003.gguf: it is not part 3 of 3: \"split.no\" is 1, \"split.count\" 3");
  EXPECT_EQ(message(folder / "a-00002-of-00003.gguf"),
            "a-00002-of-00003.gguf: it is part 2 of 3; open the first, " + folder / "a-00001-of-00003.gguf");
  EXPECT_EQ(message(copy(0, "b.gguf")),
            "b.gguf: it is part 1 of 3, so its name must end in -00001-of-00003.gguf; give it its name back");
}

TEST(Gguf, WhatIsWrittenComesBack) {
  Folder folder;
  manual_seed(1);
  NamedTensors tensors;
  const Tensor x = randn({4, 512});
  for (DType d : {f64, f32, f16, bf16, i64, i32, i16, i8}) tensors.emplace_back(d.name(), x.to(d));
  for (DType d : registered_dtypes())
    if (d.format()->def->block_bytes > 0 && d.format()->can_encode() && d != e8p) tensors.emplace_back(d.name(), x.to(d));
  EXPECT_EQ(tensors.size(), 8u + 18u);
  tensors.emplace_back("three dims", x.to(q8_0).reshape({2, 2, 512}));
  tensors.emplace_back("transposed", x.t());
  tensors.emplace_back("empty", x.to(q8_0).slice(0, 0, 0).clone());
  const GgufMetadata metadata = {{"general.alignment", uint32_t(256)},
                                 {"a", GgufArray(std::vector<std::string>{})},
                                 {"b", GgufArray(std::vector<float>{1, 2})},
                                 {"c", std::vector<GgufArray>{}}};
  save_gguf(folder / "x.gguf", tensors, metadata);
  const std::shared_ptr<GgufFile> file = GgufFile::open(folder / "x.gguf");
  EXPECT_EQ(file->values(), metadata);
  ASSERT_EQ(file->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file->tensors()[i].name, tensors[i].first);
    const bool plain = !tensors[i].second.dtype().is_blocked();
    EXPECT_TRUE(content(file->get(i)) == content(plain ? tensors[i].second.contiguous() : tensors[i].second))
        << tensors[i].first;
  }
  save_gguf(folder / "x.gguf", NamedTensors{}, {});
  EXPECT_EQ(fs::file_size(folder / "x.gguf"), 32u);
  EXPECT_EQ(GgufFile::open(folder / "x.gguf")->tensors().size(), 0u);
}

TEST(Gguf, Nvfp4KeepsEveryBit) {
  Folder folder;
  const Tensor t = stored("types.gguf")->get("NVFP4");
  save_gguf(folder / "x.gguf", {{"x", t}});
  EXPECT_TRUE(content(GgufFile::open(folder / "x.gguf")->get("x")) == content(t));
  manual_seed(1);
  EXPECT_TRUE(error_of([&] {
                save_gguf(folder / "x.gguf", {{"x", randn({2, 64}).to(nvfp4)}});
              }).starts_with("save_gguf: tensor \"x\": its scale of the whole tensor is 0.0"));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Gguf, TensorsAreAskedForOneByOne) {
  Folder folder;
  int alive = 0, most = 0;
  struct Counted {
    int& alive;
    float data[3];
    Counted(int& n, float x) : alive(n), data{x, x, x} { ++alive; }
    ~Counted() { --alive; }
  };
  std::vector<io::TensorInfo> infos;
  for (int i = 0; i < 5; ++i) infos.push_back({"t" + std::to_string(i), f32, "", {3}});
  const auto get = [&](size_t i) {
    auto* counted = new Counted(alive, float(i));
    most = std::max(most, alive);
    return make_foreign(counted->data, {3}, f32, [](void* c) { delete static_cast<Counted*>(c); }, counted);
  };
  save_gguf(folder / "x.gguf", infos, get);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(GgufFile::open(folder / "x.gguf")->get("t4")[0].item<float>(), 4.0f);
  EXPECT_EQ(error_of([&] { save_gguf(folder / "x.gguf", infos, [](size_t i) { return zeros({3 + int64_t(i)}); }); }),
            "save_gguf: tensor \"t1\": f32[3] was announced, f32[4] came");
  EXPECT_EQ(GgufFile::open(folder / "x.gguf")->get("t4")[0].item<float>(), 4.0f);  // the old file
  EXPECT_EQ(folder.files(), 1u);
  // From file to file.
  const std::shared_ptr<GgufFile> file = stored("types.gguf");
  save_gguf(folder / "y.gguf", file->tensors(), [&](size_t i) { return file->get(i); }, file->values());
  EXPECT_TRUE(read_bytes(folder / "y.gguf") == read_bytes(file->path()));
}

// A part that cannot be written: no part is there.
TEST(Gguf, PartsAppearTogether) {
  Folder folder;
  GgufOptions options;
  options.max_bytes = 32;
  fs::create_directory(folder / "x-00003-of-00003.gguf");
  const NamedTensors tensors = {{"a", zeros({8})}, {"b", zeros({8})}, {"c", zeros({8})}};
  EXPECT_EQ(error_of([&] { save_gguf(folder / "x.gguf", tensors, {}, options); }),
            "save_gguf: cannot write " + folder / "x-00003-of-00003.gguf" +
                ": Is a directory; make room or choose another path, nothing was overwritten");
  EXPECT_EQ(folder.files(), 1u);
  fs::remove(folder / "x-00003-of-00003.gguf");
  const std::string first = save_gguf(folder / "x.gguf", tensors, {}, options);
  EXPECT_EQ(folder.files(), 3u);
  const std::shared_ptr<GgufFile> file = GgufFile::open(first);
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors()[2].name, "c");
  // What it says of its parts is not taken over.
  save_gguf(folder / "one.gguf", file->tensors(), [&](size_t i) { return file->get(i); }, file->values());
  EXPECT_EQ(GgufFile::open(folder / "one.gguf")->keys().size(), 0u);
}

TEST(Gguf, WhatHasNoTypeIsRefusedByName) {
  Folder folder;
  const auto refusal = [&](const NamedTensors& tensors, const GgufMetadata& metadata = {}) {
    return error_of([&] { save_gguf(folder / "x.gguf", tensors, metadata); });
  };
  const auto of = [&](const char* dtype) { return refusal({{"x", zeros({2, 64}).to(DType::parse(dtype))}}); };
  const std::string x = "save_gguf: tensor \"x\": ";
  EXPECT_EQ(of("nf4(block=64,double)"), x + "ggml has no type for nf4(block=64,double); convert it with .to(q4_0)");
  EXPECT_EQ(of("i8(row)"), x + "ggml has no type for i8(row); convert it with .to(q8_0)");
  EXPECT_EQ(of("f8e4m3fn"), x + "ggml has no type for f8e4m3fn; convert it with .to(f16)");
  EXPECT_EQ(of("u8"), x + "ggml has no type for u8; convert it with .to(i16)");
  EXPECT_EQ(of("u64"), x + "ggml has no type for u64; convert it with .to(i64)");
  EXPECT_EQ(of("bool"), x + "ggml has no type for bool; convert it with .to(i8)");
  EXPECT_EQ(of("i4"), x + "ggml has no type for i4; convert it with .to(i8)");
  EXPECT_EQ(of("c64"), x + "ggml has no type for c64; save its real and imaginary parts");
  EXPECT_EQ(refusal({{"x", zeros({1, 1, 1, 1, 2})}}), x + "it has 5 dimensions, [1, 1, 1, 1, 2]; ggml has 4: reshape it");
  EXPECT_EQ(refusal({{"x", zeros({2})}, {"x", zeros({2})}}), x + "the name is there twice; rename one");
  EXPECT_EQ(refusal({{"", zeros({2})}}), "save_gguf: tensor \"\": a name of 0 bytes; llama.cpp reads 1 to 63: rename it");
  EXPECT_EQ(refusal({{"x", Tensor()}}), x + "it is undefined; leave it out");
  EXPECT_EQ(refusal({{"x", zeros({2, 16}).to(nvfp4)}}),
            x + "rows of NVFP4 are whole blocks of 64: it is nvfp4[2, 16]; pad it or convert it with .to(f16)");
  EXPECT_EQ(refusal({{"x", zeros({4, 64}).to(q8_0).t()}}),
            x + "rows of Q8_0 are whole blocks of 32: it is q8_0[64, 4]; pad it or convert it with .to(f16)");
  EXPECT_EQ(refusal({{"x", zeros({64, 64}).to(q8_0).t()}}),
            x + "it is a part of a scaled tensor, or one with its dimensions in another order: q8_0[64, 64]; save a clone()");
  EXPECT_EQ(refusal({}, {{"a", 1}, {"a", 2}}), "save_gguf: the key \"a\" is there twice");
  EXPECT_EQ(refusal({}, {{"", 1}}), "save_gguf: a key of 0 bytes: \"\"; 1 to 65535 are allowed");
  EXPECT_EQ(refusal({}, {{"general.alignment", uint32_t(24)}}),
            "save_gguf: key \"general.alignment\": it must be a uint32 and a power of two from 8 on");
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace dyadic::testing
