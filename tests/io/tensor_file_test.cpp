// io::open: files of tensors opened lazily, models in several files, and what must not be believed of either.
#include "dyadic/tensor_file.h"

#include <fmt/format.h>

#include "formats/format.h"
#include "tests/io/helpers.h"

namespace dyadic {
namespace {

using testing::content;
using testing::error_of;
using testing::Folder;
using testing::safetensors_bytes;
using testing::write_bytes;

std::string f32_file(const std::string& name, int64_t n) {
  return safetensors_bytes(fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", name, n, 4 * n),
                           std::string(size_t(4 * n), '\0'));
}

TEST(TensorFile, GivesWhatWasSaved) {
  Folder folder;
  manual_seed(1);
  const io::NamedTensors saved = {{"a", randn({3, 5})},           {"b", randn({7}).to(bf16)},
                                  {"w", randn({4, 64}).to(nf4)},  {"t", randn({4, 64}).to(nf4).t()},
                                  {"q", randn({2, 64}).to(q8_0)}, {"m", tensor({1, 0, 1}, boolean)},
                                  {"none", zeros({0, 3})},        {"number", tensor(2.5)}};
  io::save_safetensors(folder / "x", saved, {{"made", "here"}});
  const auto file = io::open(folder / "x");
  EXPECT_EQ(file->kind(), "safetensors");
  EXPECT_EQ(file->metadata(), R"({"made":"here"})");
  ASSERT_EQ(file->tensors().size(), saved.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(file->tensors()[i].name, saved[i].first);
    EXPECT_EQ(file->tensors()[i].shape, saved[i].second.sizes().vec());
    EXPECT_EQ(file->tensors()[i].bytes, uint64_t(saved[i].second.nbytes()));
    EXPECT_EQ(content(file->get(i)), content(saved[i].second)) << saved[i].first;
  }
  EXPECT_EQ(file->tensors()[1].stored, "BF16");
  EXPECT_EQ(file->tensors()[2].stored, DType(nf4).name());
  EXPECT_EQ(error_of([&] { file->get("bb"); }), folder / "x" + ": no tensor \"bb\"; nearest there: b");
}

TEST(TensorFile, IsMappedAndNotWritten) {
  Folder folder;
  io::save_safetensors(folder / "x", {{"a", ones({64})}, {"q", ones({2, 64}).to(q8_0)}});
  Tensor a, q;
  {
    const auto file = io::open(folder / "x");
    a = file->get("a");
    q = file->get("q");
    EXPECT_EQ(a.data_ptr(), file->get("a").data_ptr());
  }
  EXPECT_TRUE(q.impl()->storage->read_only);
  EXPECT_EQ(sum(a).item(), 64);  // the file is gone only with its tensors
  EXPECT_NE(error_of([&] { a.add_(1.0); }), "no error");
}

TEST(TensorFile, Folders) {
  Folder folder;
  write_bytes(folder / "m-1.safetensors", f32_file("a", 2));
  write_bytes(folder / "m-2.safetensors", f32_file("b", 3));
  auto file = io::open(folder.path());
  EXPECT_EQ(file->tensors().size(), 2u);
  const auto index = [&](const std::string& text) {
    write_bytes(folder / "m.safetensors.index.json", text);
    return folder / "m.safetensors.index.json";
  };
  index(R"({"metadata":{"total_size":20},"weight_map":{"b":"m-2.safetensors","a":"m-1.safetensors"}})");
  file = io::open(folder.path());
  EXPECT_EQ(file->get("b").numel(), 3);
  EXPECT_EQ(file->metadata(), R"({"total_size":20})");
  EXPECT_EQ(file->kind(), "safetensors");
  write_bytes(folder / "model.safetensors", f32_file("whole", 1));
  EXPECT_TRUE(io::open(folder.path())->has("whole"));
}

TEST(TensorFile, IndexIsChecked) {
  Folder folder;
  write_bytes(folder / "1.safetensors", f32_file("a", 2));
  write_bytes(folder / "2.safetensors", f32_file("a", 2));
  const std::string path = folder / "x.index.json";
  const auto reason = [&](const std::string& text) {
    write_bytes(path, text);
    const std::string why = error_of([&] { io::open(path)->tensors(); });
    return why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why;
  };
  const auto map = [](const std::string& entries) { return "{\"weight_map\":{" + entries + "}}"; };
  EXPECT_EQ(reason(map(R"("a":"2.safetensors")")), "no error");
  EXPECT_EQ(reason(map(R"("a":"1.safetensors","b":"1.safetensors")")),
            "tensor \"b\": it is not in \"1.safetensors\", where the index says it is");
  EXPECT_EQ(reason(map(R"("a":"3.safetensors")")), "\"3.safetensors\", which it lists, is not there");
  EXPECT_EQ(reason(map(R"("a":"x.index.json")")), "\"x.index.json\" is an index too, no file of tensors");
  for (const char* name : {"../1.safetensors", "/etc/passwd", "..", ".", "", "a\\\\b"})
    EXPECT_NE(reason(map("\"a\":\"" + std::string(name) + "\"")).find("is no name of a file beside it"), std::string::npos)
        << name;
  EXPECT_EQ(reason(map(R"("a":7)")), "tensor \"a\": its file is no text");
  EXPECT_EQ(reason("{\"weight_map\":[1,2]}"),
            "an index of files has the object weight_map, names of tensors and where they are; this has none");
  EXPECT_EQ(reason("{\"weight_map\":"), "it is not JSON");
  EXPECT_EQ(reason("{\"a\":" + std::string(100000, '[')), "it is not JSON");
}

TEST(TensorFile, UnknownFilesAreRefused) {
  Folder folder;
  write_bytes(folder / "x", "no tensors at all");
  EXPECT_NE(error_of([&] { io::open(folder / "x"); }).find("not a file of tensors of a known kind"), std::string::npos);
  EXPECT_EQ(error_of([&] { io::open(folder.path()); }),
            folder.path().native() + ": there is no file of tensors in this folder");
  EXPECT_NE(error_of([&] { io::open(folder / "y"); }).find("cannot be opened: No such file"), std::string::npos);
}

}  // namespace
}  // namespace dyadic
