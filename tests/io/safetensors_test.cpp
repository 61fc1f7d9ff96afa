// safetensors files: what comes back is what was saved, bit for bit; the bytes are the format's; the system's failures leave
// what was there.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/format.h"
#include "tests/io/helpers.h"

namespace dyadic {
namespace {

using io::load_safetensors;
using io::NamedTensors;
using io::save_safetensors;
using testing::content;
using testing::error_of;
using testing::Folder;
using testing::read_bytes;
using testing::safetensors_bytes;
using testing::write_bytes;
namespace fs = std::filesystem;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void expect_same_tensors(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(content(a[i].second) == content(b[i].second))
        << a[i].first << " " << describe(a[i].second) << " " << describe(b[i].second);
  }
}
NamedTensors round_trip(const NamedTensors& tensors) {
  Folder folder;
  save_safetensors(folder / "x.safetensors", tensors);
  return load_safetensors(folder / "x.safetensors").tensors;
}

TEST(Safetensors, EveryPlainDtype) {
  NamedTensors all;
  for (DType d : {f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 5}, {}, {0, 3}, {7}, {1, 1, 1}})
      all.emplace_back(d.name() + std::to_string(all.size()), randn(shape).to(d));
  expect_same_tensors(all, round_trip(all));
}

TEST(Safetensors, SpecialValuesKeepTheirBits) {
  float values[] = {NAN, -NAN, kInfinity, -kInfinity, 0.f, -0.f, 1e-45f, -3.4e38f};
  uint32_t payload = 0x7fc12345;  // a NaN with a payload
  std::memcpy(&values[1], &payload, 4);
  expect_same_tensors({{"x", from_data(values, {8}, f32)}}, round_trip({{"x", from_data(values, {8}, f32)}}));
}

TEST(Safetensors, ViewsAreSavedAsTheirValues) {
  Tensor x = randn({4, 6, 3});
  NamedTensors views = {{"transposed", x.transpose(0, 2)},
                        {"slice", slice(x, 1, 1, 6, 2)},
                        {"row", x[1]},
                        {"expanded", randn({1, 3}).expand({4, 3})}};
  expect_same_tensors(views, round_trip(views));
}

TEST(Safetensors, ScaledTensorsKeepTheirCodes) {
  manual_seed(3);
  Tensor x = randn({65, 96});
  NamedTensors all;
  for (const char* name :
       {"nf4", "nf4(block=128,double)", "fp4", "i8(row)", "i8(tensor)", "i4(group=32)", "i4(group=64,zero,scale=f16)",
        "i4(scale=bf16)", "dynamic8", "udynamic8", "aqlm(codebooks=3,bits=5,scale=f16)"}) {
    Tensor w = x.to(DType::parse(name));
    all.emplace_back(std::string(name), w);
    all.emplace_back(std::string(name) + " transposed", w.t());
  }
  Tensor rows = randn({5, 256});
  for (DType d : registered_dtypes())  // the block formats of GGUF files
    if (d.is_scaled() && d.format()->row_step() > 1 && d.format()->can_encode()) all.emplace_back(d.name(), rows.to(d));
  Tensor codes = empty({2, 512}, iq2_xs);
  std::memset(codes.data_ptr(), 0x35, size_t(codes.nbytes()));
  all.emplace_back("decoded only", codes);
  all.emplace_back("seen flat", x.to(nf4).view({-1}));
  all.emplace_back("permuted", randn({3, 4, 64}).to(nf4).permute({2, 0, 1}));
  all.emplace_back("with ones", randn({1, 4, 1, 64}).to(i4_group32).permute({3, 1, 0, 2}));
  all.emplace_back("0-d", tensor({2.5}).view({}).to(nf4));
  all.emplace_back("odd", randn({3, 7}).to(dynamic8));
  all.emplace_back("empty", randn({0, 64}).to(nf4));
  NamedTensors back = round_trip(all);
  expect_same_tensors(all, back);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].second.to_vector(), back[i].second.to_vector()) << all[i].first;
}

TEST(Safetensors, AnyReaderSeesPlainArrays) {
  Folder folder;
  Tensor w = randn({4, 64}).to(DType::parse("nf4(block=64)")), b = tensor({1, 2}, bf16);
  save_safetensors(folder / "m", {{"b", b}, {"w", w.t()}}, {{"note", "\"hello\" \xc3\xa9\n"}});
  std::string bytes = read_bytes(folder / "m");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  auto header = nlohmann::json::parse(bytes.substr(8, length));
  auto scaled = nlohmann::json::parse(header["__metadata__"]["dyadic.scaled"].get<std::string>());
  EXPECT_EQ(header["__metadata__"]["note"], "\"hello\" \xc3\xa9\n");
  EXPECT_EQ(header["__metadata__"]["dyadic.format"], "1");
  EXPECT_EQ(scaled["w"]["dtype"], w.dtype().name());
  EXPECT_EQ(scaled["w"]["shape"], (std::vector<int64_t>{4, 64}));
  EXPECT_EQ(scaled["w"]["permute"], (std::vector<int64_t>{1, 0}));
  header.erase("__metadata__");
  // Widest elements first in the data, the caller's order in the header's text.
  EXPECT_EQ(header.dump(), R"({"b":{"data_offsets":[16,20],"dtype":"BF16","shape":[2]},)"
                           R"("w.absmax":{"data_offsets":[0,16],"dtype":"F32","shape":[4]},)"
                           R"("w.codes":{"data_offsets":[20,148],"dtype":"U8","shape":[128]}})");
  EXPECT_EQ(bytes.size(), 8 + length + 148);
  EXPECT_LT(bytes.find("\"b\":"), bytes.find("\"w.codes\":"));
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  Folder folder;
  std::string data("\x00\x00\x80\x3f\x00\x00\x00\x40\x01\x00\x01", 11);
  write_bytes(
      folder / "o",
      safetensors_bytes(R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},"x":{"dtype":"F32","shape":[1,2],)"
                        R"("data_offsets":[0,8]},"__metadata__":{"format":"pt","dyadic.note":"kept"},)"
                        R"("none":{"shape":[0],"data_offsets":[8,8],"dtype":"I64"}}   )",
                        data));
  io::SafeTensors file = load_safetensors(folder / "o");
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].first, "mask");
  EXPECT_EQ(file.tensors[0].second.to_vector(), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(file.tensors[1].second.to_vector(), (std::vector<double>{1, 2}));
  EXPECT_EQ(file.tensors[1].second.sizes(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file.tensors[2].second.numel(), 0);
  EXPECT_EQ(file.metadata,
            (io::Metadata{{"format", "pt"}, {"dyadic.note", "kept"}}));  // not one of our files: nothing is taken out
}

TEST(Safetensors, EmptyFileOfNoTensors) {
  Folder folder;
  save_safetensors(folder / "e", {}, {{"a", "b"}});
  io::SafeTensors file = load_safetensors(folder / "e");
  EXPECT_TRUE(file.tensors.empty());
  EXPECT_EQ(file.metadata, (io::Metadata{{"a", "b"}}));
}

TEST(Safetensors, RefusesWhatItCannotKeep) {
  Folder folder;
  std::string path = folder / "r";
  Tensor x = randn({2, 64}), w = x.to(DType::parse("nf4(block=64)"));
  auto text = [&](const NamedTensors& t, const io::Metadata& m = {}) {
    return error_of([&] { save_safetensors(path, t, m); });
  };
  EXPECT_EQ(text({{"a", x}, {"a", x}}),
            "save_safetensors: tensor \"a\": the name is there twice (planes of scaled tensors are named <name>.<plane>); "
            "rename one");
  EXPECT_EQ(text({{"w", w}, {"w.codes", x}}),
            "save_safetensors: tensor \"w.codes\": the name is there twice (planes of scaled tensors are named "
            "<name>.<plane>); rename one");
  EXPECT_EQ(text({{"w", x}, {"w", w}}),
            "save_safetensors: tensor \"w\": the name is there twice (planes of scaled tensors are named <name>.<plane>); "
            "rename one");
  EXPECT_EQ(text({{"a", Tensor()}}), "save_safetensors: tensor \"a\": it is undefined; leave it out");
  EXPECT_EQ(text({{"a", x.to(meta)}}),
            "save_safetensors: tensor \"a\": a meta tensor has no values: it is f32[2, 64]; leave it out");
  EXPECT_EQ(text({{"__metadata__", x}}),
            "save_safetensors: tensor \"__metadata__\": the format keeps this name for itself; choose another");
  EXPECT_EQ(text({{"a\xff", x}}), "save_safetensors: a name is not UTF-8: \"a\xff\"");
  EXPECT_EQ(text({{"w", w[1]}}),
            "save_safetensors: tensor \"w\": it is a part of a scaled tensor: nf4(block=64)[64] with strides [1], 64 of the "
            "128 elements "
            "of its storage; save the "
            "whole, or a clone() of the part");
  EXPECT_EQ(text({}, {{"dyadic.x", "1"}}),
            "save_safetensors: a reserved key: the metadata has \"dyadic.x\"; keys that begin with \"dyadic.\" are ours");
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Safetensors, NothingIsOverwrittenByAFailure) {
  Folder folder;
  std::string path = folder / "m";
  save_safetensors(path, {{"x", ones({2})}});
  const std::string before = read_bytes(path);
  // A full disk, as far as a test can have one: no file may grow beyond 4 KiB.
  rlimit old_limit, limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  limit = old_limit;
  limit.rlim_cur = 4096;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string text = error_of([&] { save_safetensors(path, {{"x", ones({100000})}}); });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text, "save_safetensors: cannot write " + path +
                      ": File too large; make room or choose another path, nothing was overwritten");
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Safetensors, UnwritablePathsAreNamed) {
  Folder folder;
  auto text = [&](const std::string& path) { return error_of([&] { save_safetensors(path, {}); }); };
  std::string missing = folder / "no/such/m", directory = folder.path().native();
  const std::string tail = "; make room or choose another path, nothing was overwritten";
  EXPECT_EQ(text(missing), "save_safetensors: cannot write " + missing + ": No such file or directory" + tail);
  EXPECT_EQ(text(directory), "save_safetensors: cannot write " + directory + ": Is a directory" + tail);
  EXPECT_EQ(text("/dev/null"), "save_safetensors: cannot write /dev/null: it is a device or a pipe; choose another path");
  EXPECT_TRUE(fs::exists("/dev/null"));
  EXPECT_EQ(error_of([&] { load_safetensors(missing); }), missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(error_of([&] { load_safetensors(directory); }), directory + ": cannot be read: it is a folder");
  EXPECT_EQ(error_of([&] { load_safetensors("/dev/null"); }), "/dev/null: cannot be read: it is not a regular file");
}

TEST(Safetensors, LinksModesAndLeftOvers) {
  Folder folder;
  save_safetensors(folder / "target", {});
  fs::permissions(folder / "target", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", folder / "link");
  write_bytes(folder / "target.tmp", "left by a killed run");
  save_safetensors(folder / "link", {{"x", ones({2})}});
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(load_safetensors(folder / "target").tensors.size(), 1u);
  EXPECT_EQ(fs::status(folder / "target").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(folder.files(), 2u);
}

TEST(Safetensors, LoadingIsCharged) {
  Folder folder;
  save_safetensors(folder / "m", {{"x", randn({512, 512})}});
  CategoryScope scope(Category::parameter);
  int64_t before = memory_stats().live[size_t(Category::parameter)];
  io::SafeTensors file = load_safetensors(folder / "m");
  EXPECT_GE(memory_stats().live[size_t(Category::parameter)] - before, 512 * 512 * 4);
}

}  // namespace
}  // namespace dyadic
