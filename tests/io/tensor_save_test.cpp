// io::save: every dtype of safetensors against what the reference implementation writes, files in parts, tied weights, sources
// that are read a tensor at a time.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "dyadic/tensor_file.h"
#include "formats/format.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

using nlohmann::json;
using testing::content;
using testing::error_of;
using testing::Folder;
using testing::read_bytes;
namespace fs = std::filesystem;

json read_json(const std::string& path) { return json::parse(read_bytes(path)); }

void expect_same_tensors(const io::TensorFile& a, const io::TensorFile& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const std::string& name = a.tensors()[i].name;
    EXPECT_EQ(content(a.get(i)), content(b.get(name))) << name;
  }
}

TEST(TensorSave, EveryDtypeAsTheReferenceWritesIt) {
  const auto file = io::open(test_data("io/data/safetensors/dtypes.safetensors"));
  const json values = read_json(test_data("io/data/safetensors/dtypes.json"));
  ASSERT_EQ(file->tensors().size(), values.size());
  EXPECT_EQ(file->metadata(), R"({"made":"by safetensors"})");
  for (const io::TensorInfo& t : file->tensors()) {
    Tensor x = file->get(t.name);
    if (x.dtype().is_complex()) x = view_as_real(x);
    EXPECT_EQ(x.to_vector(), values[t.name].get<std::vector<double>>()) << t.name;
  }
  EXPECT_EQ(file->get("float4_e2m1fn").dtype(), f4e2m1fn);
  EXPECT_EQ(file->get("float4_e2m1fn").sizes().vec(), (std::vector<int64_t>{2, 8}));
  Folder folder;
  io::save(folder / "again.safetensors", *file);
  const auto again = io::open(folder / "again.safetensors");
  expect_same_tensors(*file, *again);
  for (const io::TensorInfo& t : again->tensors())
    EXPECT_EQ(t.stored, file->tensors()[size_t(&t - again->tensors().data())].stored) << t.name;
  EXPECT_EQ(io::load_safetensors(folder / "again.safetensors").tensors.size(), values.size());
}

TEST(TensorSave, PackedDtypesFillWholeBytesOrArePlanes) {
  Folder folder;
  manual_seed(2);
  io::NamedTensors all;
  for (DType d : {f6e2m3fn, f6e3m2fn, f4e2m1fn, f4e3m0, i4, u2, u1})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 8}, {5}, {0, 4}})
      all.emplace_back(d.name() + std::to_string(all.size()), (randn(shape) * 2.0).to(d));
  all.emplace_back("turned", randn({4, 8}).to(f4e2m1fn).t());
  const std::string path = io::save(folder / "x.safetensors", all);
  expect_same_tensors(*io::open(path), *io::open(path));
  const auto file = io::open(path);
  for (const auto& [name, t] : all) EXPECT_EQ(content(file->get(name)), content(t)) << name;
  EXPECT_EQ(file->tensors()[0].stored, "F6_E2M3");
  EXPECT_EQ(file->tensors()[1].stored, "f6e2m3fn");  // 30 bits are no whole bytes
  for (const auto& [name, t] : io::load_safetensors(path).tensors) EXPECT_EQ(content(file->get(name)), content(t)) << name;
}

TEST(TensorSave, ShardsAsHuggingFaceWritesThem) {
  const std::string theirs = test_data("io/data/safetensors/sharded");
  const auto file = io::open(theirs);
  const json sums = read_json(theirs + "/sums.json");
  io::NamedTensors state;
  ASSERT_EQ(file->tensors().size(), sums.size());  // a tied name, which no file holds, among them
  for (const io::TensorInfo& t : file->tensors()) {
    EXPECT_NEAR(sum(file->get(t.name).to(f64)).item(), sums[t.name].get<double>(), 1e-6) << t.name;
    state.emplace_back(t.name, file->get(t.name));
  }
  Folder folder;
  const std::string index = io::save(folder.path(), state, {.max_shard_size = 150});
  EXPECT_EQ(index, folder / "model.safetensors.index.json");
  const json ours = read_json(index), expected = read_json(theirs + "/model.safetensors.index.json");
  EXPECT_EQ(ours["weight_map"], expected["weight_map"]);
  EXPECT_EQ(ours["metadata"], expected["metadata"]);
  const auto back = io::open(folder.path());
  EXPECT_EQ(back->tensors().size(), sums.size());
  EXPECT_EQ(back->get("lm_head.weight").data_ptr(), back->get("embed.weight").data_ptr());
}

TEST(TensorSave, TiedWeightsAreStoredOnce) {
  Folder folder;
  manual_seed(3);
  const Tensor w = randn({64, 4}), q = randn({4, 64}).to(nf4);
  const std::string path = folder / "x.safetensors";
  io::save(path, {{"a", w}, {"b", w}, {"turned", w.t()}, {"part", w[0]}, {"q", q}, {"r", q}}, {.metadata = {{"k", "v"}}});
  EXPECT_LT(fs::file_size(path), 3 * 64 * 4 * 4u);
  const auto file = io::open(path);
  EXPECT_EQ(file->metadata(), R"({"format":"pt","k":"v"})");
  ASSERT_EQ(file->tensors().size(), 6u);
  EXPECT_EQ(file->same_as(4), 0u);  // names that are tied come last
  EXPECT_EQ(file->tensors()[4].name, "b");
  EXPECT_EQ(file->tensors()[4].bytes, 0u);
  EXPECT_EQ(file->get("b").data_ptr(), file->get("a").data_ptr());
  EXPECT_EQ(content(file->get("r")), content(q));
  const io::SafeTensors loaded = io::load_safetensors(path);
  ASSERT_EQ(loaded.tensors.size(), 6u);
  EXPECT_EQ(loaded.tensors[4].second.data_ptr(), loaded.tensors[0].second.data_ptr());
  io::save(folder / "again.safetensors", *file);  // and from the file
  EXPECT_EQ(fs::file_size(folder / "again.safetensors"), fs::file_size(path) - std::string("\"k\":\"v\",").size() / 8 * 8);
}

TEST(TensorSave, TiedWeightsOfOthers) {
  const auto file = io::open(test_data("io/data/safetensors/tied.safetensors"));
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->get("head.weight").data_ptr(), file->get("embed.weight").data_ptr());
  EXPECT_EQ(file->get("embed.weight").sizes().vec(), (std::vector<int64_t>{4, 2}));
}

TEST(TensorSave, TiesThatAreNotThereAreRefused) {
  Folder folder;
  const auto reason = [&](const std::string& tied) {
    std::string escaped;
    for (char c : tied) escaped += c == '"' ? "\\\"" : std::string(1, c);
    testing::write_bytes(folder / "x",
                         testing::safetensors_bytes(R"({"__metadata__":{"dyadic.format":"1","dyadic.tied":")" + escaped +
                                                        R"("},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                                    "x"));
    const std::string why = error_of([&] { io::open(folder / "x"); });
    return why.substr(std::min(why.size(), (folder / "x: ").size()));
  };
  EXPECT_EQ(reason(R"({"b":"a"})"), "");
  EXPECT_EQ(reason(R"({"b":"c"})"), "tensor \"b\": what dyadic.tied says it is tied to is not there");
  EXPECT_EQ(reason(R"({"b":"b"})"), "tensor \"b\": what dyadic.tied says it is tied to is not there");
  EXPECT_EQ(reason(R"({"a":"a"})"), "tensor \"a\": dyadic.tied lists it, but it is there");
  EXPECT_EQ(reason(R"({"b":1})"), "tensor \"b\": what dyadic.tied says it is tied to is not there");
  EXPECT_EQ(reason("[]"), "metadata: dyadic.tied is not an object");
}

TEST(TensorSave, ASecondSaveLeavesNothingOfTheFirst) {
  Folder folder;
  const io::NamedTensors state = {{"a", ones({8})}, {"b", ones({8})}, {"c", ones({8})}};
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& f : fs::directory_iterator(folder.path())) all.push_back(f.path().filename().native());
    std::sort(all.begin(), all.end());
    return all;
  };
  io::save(folder.path(), state, {.max_shard_size = 32});
  EXPECT_EQ(folder.files(), 4u);
  io::save(folder.path(), state, {.max_shard_size = 64});
  EXPECT_EQ(names(), (std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                               "model.safetensors.index.json"}));
  io::save(folder.path(), state);
  EXPECT_EQ(names(), (std::vector<std::string>{"model.safetensors"}));
  io::save(folder.path(), *io::open(folder.path()), {.max_shard_size = 40});  // onto what is being read
  EXPECT_EQ(folder.files(), 4u);
  EXPECT_EQ(sum(io::open(folder.path())->get("c")).item(), 8);
}

// Parts that a killed save left, which no index names, and a file it had begun; those of another model stay, and what others
// have written.
TEST(TensorSave, ASaveRemovesWhatAKilledOneLeft) {
  Folder folder;
  const io::NamedTensors state = {{"a", ones({8})}, {"b", ones({8})}};
  io::save(folder / "model-2.safetensors", state, {.max_shard_size = 32});
  io::save(folder / "model-b1.safetensors", state, {.max_shard_size = 32});
  for (const char* left : {"model-00001-of-00003.safetensors", "model-b7-00002-of-00003.safetensors"})
    io::save_safetensors(folder / left, state);
  testing::write_bytes(folder / "model-00002-of-00002.safetensors.tmp", "left");
  for (const char* own : {"model-00001-of-me.safetensors", "model-1-of-2.safetensors", "model-00001-of-00009.safetensors"})
    testing::write_bytes(folder / own, "somebody's");
  EXPECT_EQ(folder.files(), 12u);
  for (uint64_t most : {32u, 0u}) {
    io::save(folder.path(), state, {.max_shard_size = most});
    EXPECT_EQ(folder.files(), most ? 12u : 10u);  // three went, three came; then one file and no index
    for (const char* name : {"model-2", "model-b1"})
      EXPECT_EQ(io::open(folder / (std::string(name) + ".safetensors.index.json"))->tensors().size(), 2u);
    EXPECT_FALSE(fs::exists(folder / "model-00001-of-00003.safetensors"));
    EXPECT_FALSE(fs::exists(folder / "model-00002-of-00002.safetensors.tmp"));
    EXPECT_TRUE(fs::exists(folder / "model-00001-of-00009.safetensors"));
  }
  // Beside an index that is not understood all stay.
  testing::write_bytes(folder / "model-x.safetensors.index.json", "{");
  io::save_safetensors(folder / "model-00001-of-00003.safetensors", state);
  io::save(folder.path(), state);
  EXPECT_TRUE(fs::exists(folder / "model-00001-of-00003.safetensors"));
}

TEST(TensorSave, WhatCannotBeWrittenIsSaid) {
  Folder folder;
  EXPECT_EQ(error_of([&] { io::save(folder / "x.safetensors", {{"z", zeros({2}, c128)}}); }),
            "save: tensor \"z\": the format has no c128; convert it with .to");
  EXPECT_EQ(error_of([&] { io::save(folder / "x.doc", io::NamedTensors{}); }).substr(0, 26), "save: which kind of file? ");
  EXPECT_EQ(error_of([&] { io::save(folder / "x", io::NamedTensors{}, {.kind = "word"}); }).substr(0, 26),
            "save: unknown kind \"word\";");
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace dyadic
