// Readers of data files on files that are not what they say: every one is an error, none is a crash. (What they read when all
// is well: tests/python/test_data_files.py, against numpy.)
#include <zlib.h>

#include "base/check.h"
#include "dyadic/data_files.h"
#include "dyadic/images.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using namespace data;

// Every beginning of the file, and the file with each byte changed: `read` throws an Error or gives a tensor.
template <class F> void torture(const std::string& whole, const std::string& path, F read) {
  auto attempt = [&](const std::string& bytes) {
    fs::remove(path);  // writing over a file would wait for the disk
    write_bytes(path, bytes);
    try {
      return read(path).defined();
    } catch (const Error&) { return false; }
  };
  ASSERT_TRUE(attempt(whole));
  int refused = 0;
  for (size_t n = 0; n < whole.size(); ++n) refused += !attempt(whole.substr(0, n));
  EXPECT_GT(refused, int(whole.size() / 2));
  for (size_t i = 0; i < whole.size(); ++i)
    for (int change : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ change);
      attempt(bytes);
    }
}

TEST(DataFiles, DamagedArrays) {
  Folder f;
  const Tensor t = arange(0, 6, 1, i32).view({2, 3});
  save_npy(f / "t.npy", t);
  EXPECT_EQ(content(load_npy(f / "t.npy")), content(t));
  torture(read_bytes(f / "t.npy"), f / "bad.npy", load_npy);
  write_bytes(f / "more.npy", read_bytes(f / "t.npy") + "more");  // as numpy and memmap read it
  EXPECT_EQ(content(load_npy(f / "more.npy")), content(t));
  const std::string idx = {0, 0, 12, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 1, 0};
  torture(idx, f / "bad.idx", read_idx);
  EXPECT_EQ(read_idx(([&] { return write_bytes(f / "t.idx", idx), f / "t.idx"; })()).to_vector(),
            (std::vector<double>{7, 256}));
}

TEST(DataFiles, DamagedImages) {
  Folder f;
  write_png(f / "a.png", (arange(0, 3 * 5 * 4) * 4).to(u8).view({3, 5, 4}));
  EXPECT_EQ(read_image(f / "a.png").sizes(), IntList({3, 5, 4}));
  torture(read_bytes(f / "a.png"), f / "bad.png", [](const std::string& p) { return read_image(p); });
  const std::string jpeg = read_bytes(test_data("data/halves.jpg"));
  EXPECT_EQ(decode_image(jpeg).sizes(), IntList({3, 8, 16}));
  torture(jpeg, f / "bad.jpg", [](const std::string& p) { return read_image(p); });
}

TEST(DataFiles, Csv) {
  Folder f;
  write_bytes(f / "a.csv", "1,2\n3,4e1\n");
  EXPECT_EQ(read_csv(f / "a.csv").to_vector(), (std::vector<double>{1, 2, 3, 40}));
  torture("1,-2.5\n3,4\n5,6", f / "bad.csv", [](const std::string& p) {
    Tensor t = read_csv(p);
    return t.numel() == 6 ? t : throw Error("fewer");
  });
  EXPECT_EQ(error_of([&] { read_csv(f / "none"); }),
            "read_csv: " + f / "none" + " cannot be opened: No such file or directory");
}

TEST(DataFiles, PackedOnesThatEndTooEarly) {
  Folder f;
  gzFile out = gzopen((f / "a.gz").c_str(), "wb");
  for (int i = 0; i < 1000; ++i) gzprintf(out, "%d,%d\n", i, i * i);
  gzclose(out);
  EXPECT_EQ(read_csv(f / "a.gz").size(0), 1000);
  const std::string whole = read_bytes(f / "a.gz");
  write_bytes(f / "b.gz", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(error_of([&] { read_csv(f / "b.gz"); }), "read_csv: " + f / "b.gz" + ": it ends too early");
  EXPECT_EQ(error_of([&] { read_text(f / "b.gz"); }), "read_text: " + f / "b.gz" + ": it ends too early");
}

TEST(ImageFolder, InCpp) {
  namespace T = transforms;
  Folder f;
  for (const char* name : {"a", "b"}) {
    fs::create_directory(f / name);
    for (int i = 0; i < 4; ++i) write_png(f / name + "/" + std::to_string(i) + ".png", full({3, 9, 9}, 10 * i, u8));
  }
  auto usual =
      T::compose({T::random_resized_crop({6}), T::random_horizontal_flip(), T::to_float(), T::normalize({0, 0, 0}, {1, 1, 1})});
  auto folder = std::make_shared<ImageFolder>(f.path().native(), usual);
  DataLoader loader(folder, {.batch_size = 8, .num_workers = 2});
  for (const Value& batch : loader) {
    EXPECT_EQ(batch[0].tensor().sizes(), IntList({8, 3, 6, 6}));
    EXPECT_NEAR(amax(batch[0]).item(), 30. / 255, 1e-6);
    EXPECT_EQ(batch[1].tensor().to_vector(), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
  }
}

}  // namespace
}  // namespace dyadic::testing
