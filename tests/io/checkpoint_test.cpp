// Checkpoints: all of it comes back; damage of any byte is noticed; the folder falls back and cleans up.
#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "tests/io/helpers.h"

namespace dyadic {
namespace {

using io::Checkpoint;
using io::CheckpointFolder;
using io::NamedTensors;
using testing::content;
using testing::error_of;
namespace fs = std::filesystem;
using testing::Folder;
using testing::read_bytes;
using testing::write_bytes;

Checkpoint sample(int64_t step) {
  manual_seed(uint64_t(step));
  Checkpoint c;
  c.set("model", {{"wte.weight", randn({4, 8})}, {"head.weight", randn({3, 8}).to(bf16)}});
  c.set("optimizer", {{"exp_avg.wte.weight", randn({16, 256}).to(dynamic8)},
                      {"exp_avg_sq.wte.weight", square(randn({16, 256})).to(udynamic8)},
                      {"exp_avg.head.weight", randn({3, 8})}});
  c.json =
      R"({"step":)" + std::to_string(step) + R"(,"generator":{"seed":18446744073709551615,"calls":7},"note":"\u00e9 \"q\""})";
  return c;
}
void expect_same(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(content(a[i].second) == content(b[i].second)) << a[i].first;
  }
}

TEST(Checkpoint, ComesBackWhole) {
  Folder folder;
  Checkpoint c = sample(12);
  c.save(folder / "c");
  Checkpoint back = Checkpoint::load(folder / "c");
  EXPECT_EQ(back.json, c.json);
  expect_same(back.get("model"), c.get("model"));
  expect_same(back.get("optimizer"), c.get("optimizer"));
  EXPECT_EQ(back.get("optimizer")[0].second.dtype(), dynamic8);
  EXPECT_FALSE(back.has("ema"));
  EXPECT_EQ(error_of([&] { back.get("ema"); }), "checkpoint: no group \"ema\"; there are: model, optimizer");
  // It is a safetensors file like any other.
  EXPECT_EQ(io::load_safetensors(folder / "c").tensors[0].first, "model.wte.weight");
}

TEST(Checkpoint, SettingAGroupReplacesIt) {
  Checkpoint c = sample(1);
  c.set("model", {{"x", ones({1})}});
  EXPECT_EQ(c.get("model").size(), 1u);
  EXPECT_EQ(c.get("optimizer").size(), 3u);
  EXPECT_EQ(error_of([&] { c.set("a.b", {}); }), "checkpoint: a group's name has no dot and is not empty: it is \"a.b\"");
}

TEST(Checkpoint, TheSameBytesEveryTime) {
  Folder folder;
  sample(3).save(folder / "a");
  sample(3).save(folder / "b");
  EXPECT_EQ(read_bytes(folder / "a"), read_bytes(folder / "b"));
}

TEST(Checkpoint, DocumentMustBeAnObject) {
  Folder folder;
  Checkpoint c;
  for (const char* text : {"", "[]", "3", "{", "{\"a\":1}x"}) {
    c.json = text;
    EXPECT_EQ(error_of([&] { c.save(folder / "c"); }), "checkpoint: json is not an object: it begins \"" +
                                                           std::string(text[0] == '{' && text[1] ? "{\\\"a\\\":1}x" : text) +
                                                           "\"");
  }
}

TEST(Checkpoint, EveryDamagedByteIsNoticed) {
  Folder folder;
  Checkpoint c;
  c.set("m", {{"x", ones({3})}, {"q", ones({2, 4}).to(dynamic8)}});
  c.json = R"({"step":1})";
  const std::string path = folder / "c";
  c.save(path);
  const std::string whole = read_bytes(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = char(bytes[i] ^ (1 << (i % 8)));
    write_bytes(path, bytes);
    std::string text = error_of([&] { Checkpoint::load(path); });
    ASSERT_EQ(text.substr(0, 11 + path.size() + 11), "checkpoint " + path + ": damaged: ") << "byte " << i;
  }
  for (size_t n : {size_t(0), size_t(7), size_t(100), whole.size() - 1}) {
    write_bytes(path, whole.substr(0, n));
    EXPECT_NE(error_of([&] { Checkpoint::load(path); }).find("; delete it or pass an older one"), std::string::npos) << n;
  }
  write_bytes(path, whole);
  EXPECT_EQ(error_of([&] { Checkpoint::load(path); }), "no error");
}

TEST(Checkpoint, OtherFilesAreNamedForWhatTheyAre) {
  Folder folder;
  io::save_safetensors(folder / "m", {{"x", ones({2})}});
  EXPECT_EQ(error_of([&] { Checkpoint::load(folder / "m"); }),
            "checkpoint " + (folder / "m") + ": damaged: its checksum is missing; delete it or pass an older one");
  EXPECT_EQ(error_of([&] { Checkpoint::load(folder / "none"); }),
            "checkpoint " + (folder / "none") + ": cannot be opened: No such file or directory");
}

TEST(CheckpointFolder, KeepsTheNewestAndFallsBack) {
  Folder folder;
  CheckpointFolder runs(folder / "deep/er", {.name = "run", .keep = 2});
  EXPECT_TRUE(runs.list().empty());
  EXPECT_FALSE(runs.latest());
  for (int64_t step : {5, 10, 100}) runs.save(sample(step), step);
  write_bytes(folder / "deep/er/run-notes.safetensors", "not one of them");
  write_bytes(folder / "deep/er/other-00000900.safetensors", "not one of them");
  auto files = runs.list();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].step, 100);
  EXPECT_EQ(files[1].step, 10);
  EXPECT_EQ(files[0].path, folder / "deep/er/run-00000100.safetensors");
  auto found = runs.latest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 100);
  expect_same(found->checkpoint.get("model"), sample(100).get("model"));

  write_bytes(files[0].path, read_bytes(files[0].path).substr(0, 500));
  ::testing::internal::CaptureStderr();
  found = runs.latest();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(files[0].path + ": damaged: "), std::string::npos);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 10);
  EXPECT_EQ(found->checkpoint.json, sample(10).json);

  write_bytes(files[1].path, "x");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(error_of([&] { runs.latest(); }).substr(0, 11 + files[0].path.size()), "checkpoint " + files[0].path);
  ::testing::internal::GetCapturedStderr();
}

TEST(Checkpoint, InSeveralFiles) {
  Folder folder;
  Checkpoint c = sample(12);
  const std::string path = folder / "c.safetensors", index = path + ".index.json";
  EXPECT_EQ(c.save(path, 1 << 20), path);
  EXPECT_EQ(c.save(path, 4300), index);
  const std::string names[] = {folder / "c-00001-of-00003.safetensors", folder / "c-00002-of-00003.safetensors",
                               folder / "c-00003-of-00003.safetensors"};
  for (const std::string& name : names) EXPECT_TRUE(fs::exists(name)) << name;
  Checkpoint back = Checkpoint::load(index);
  EXPECT_EQ(back.json, c.json);
  EXPECT_EQ(Checkpoint::document(index), c.json);
  EXPECT_EQ(Checkpoint::document(path), c.json);
  expect_same(back.get("model"), c.get("model"));
  expect_same(back.get("optimizer"), c.get("optimizer"));
  // The form of Hugging Face's tools.
  EXPECT_NE(read_bytes(index).find("\"model.wte.weight\": \"c-00001-of-00003.safetensors\""), std::string::npos);

  // A second one under the same path leaves the first one's parts alone until its index is there.
  EXPECT_EQ(sample(13).save(path, 4300), index);
  EXPECT_TRUE(fs::exists(folder / "c-b1-00003-of-00003.safetensors"));
  EXPECT_EQ(Checkpoint::load(index).json, sample(13).json);

  const std::string whole = read_bytes(index);
  for (size_t i = 0; i < whole.size(); i += 7) {
    std::string bytes = whole;
    bytes[i] = char(bytes[i] ^ 1);
    write_bytes(index, bytes);
    EXPECT_NE(error_of([&] { Checkpoint::load(index); }), "no error") << i;
  }
  write_bytes(index, whole);
  fs::copy_file(names[1], folder / "c-b1-00002-of-00003.safetensors", fs::copy_options::overwrite_existing);
  EXPECT_EQ(error_of([&] { Checkpoint::load(index); }),
            "checkpoint " + index +
                ": damaged: \"c-b1-00002-of-00003.safetensors\" is a part of another one; delete it or pass an older one");
  write_bytes(folder / "c-b1-00002-of-00003.safetensors", "short");
  EXPECT_EQ(error_of([&] { Checkpoint::load(index); }),
            "checkpoint " + index + ": damaged: " + (folder / "c-b1-00002-of-00003.safetensors") +
                ": too short: 5 bytes, the header's length alone takes 8; delete it or pass an older one");
}

TEST(CheckpointFolder, PartsComeAndGoWithTheirIndex) {
  Folder folder;
  CheckpointFolder runs(folder / "r", {.keep = 1, .shard_bytes = 4300});
  auto names = [&] {
    std::vector<std::string> all;
    for (auto& e : fs::directory_iterator(folder / "r")) all.push_back(e.path().filename().native());
    std::sort(all.begin(), all.end());
    return all;
  };
  auto whole = [](const std::string& step, const std::string& generation) {
    std::vector<std::string> all;
    for (const char* part : {"1", "2", "3"})
      all.push_back("checkpoint-" + step + "-" + generation + "0000" + part + "-of-00003.safetensors");
    all.push_back("checkpoint-" + step + ".safetensors.index.json");
    return all;
  };
  runs.save(sample(1), 1);
  EXPECT_EQ(names(), whole("00000001", ""));
  EXPECT_EQ(runs.save(sample(2), 2), folder / "r/checkpoint-00000002.safetensors.index.json");
  EXPECT_EQ(names(), whole("00000002", ""));
  runs.save(sample(3), 2);
  EXPECT_EQ(names(), whole("00000002", "b1-"));
  EXPECT_EQ(runs.latest()->checkpoint.json, sample(3).json);
  // What killed processes leave: parts without an index, files half written.
  write_bytes(folder / "r/checkpoint-00000007-00001-of-00009.safetensors", "x");
  write_bytes(folder / "r/checkpoint-00000008.safetensors.tmp", "x");
  EXPECT_EQ(runs.latest()->step, 2);
  runs.save(sample(4), 4);
  EXPECT_EQ(names(), whole("00000004", ""));
  // One whole file in the place of several, and back.
  CheckpointFolder(folder / "r", {.keep = 1}).save(sample(5), 4);
  EXPECT_EQ(names(), std::vector<std::string>{"checkpoint-00000004.safetensors"});
  runs.save(sample(6), 4);
  EXPECT_EQ(names(), whole("00000004", ""));
  EXPECT_EQ(error_of([] { CheckpointFolder("x", {.shard_bytes = -1}); }),
            "checkpoint: shard_bytes is negative: -1; 0 is for one file");
}

TEST(CheckpointFolder, NeverRemovesWhatItJustWrote) {
  Folder folder;
  CheckpointFolder runs(folder / "r", {.name = "run", .keep = 1});
  runs.save(sample(50), 50);
  runs.save(sample(7), 7);  // a run that went back
  auto files = runs.list();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].step, 7);
  EXPECT_EQ(error_of([] { CheckpointFolder("x", {.name = "run", .keep = 0}); }),
            "checkpoint: at least one file is kept: keep is 0");
}

}  // namespace
}  // namespace dyadic
