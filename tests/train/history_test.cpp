// The history's CSV file through kills and resumptions; TensorBoard's files read back.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/run.h"
#include "train/crc32c.h"

namespace dyadic {
namespace {

using testing::error_of;
using testing::Folder;
using testing::read_bytes;
using testing::write_bytes;
using train::History;

std::string warnings_of(auto&& f) {
  ::testing::internal::CaptureStderr();
  f();
  return ::testing::internal::GetCapturedStderr();
}

TEST(History, ACsvFileOfRows) {
  Folder folder;
  const std::string path = folder / "deep/h.csv";
  {
    History h({.csv = path});
    h.log(1, {{"loss", 0.5}});
    h.log(1, {{"lr", 0.1}});
    h.log(2, {{"loss", 1.0 / 3}});
    EXPECT_EQ(read_bytes(path), "step,loss,lr\n1,0.5,0.1\n");  // a row is written when it is complete
    h.log(10, {{"loss", NAN}, {"a \"b\", c", -INFINITY}});
    EXPECT_EQ(error_of([&] { h.log(9, {}); }), "History: step 9 comes after step 10");
    h.sync();
    h.log(10, {{"lr", 7}});
  }
  EXPECT_EQ(read_bytes(path), "step,loss,lr,\"a \"\"b\"\", c\"\n1,0.5,0.1,\n2,0.3333333333333333,,\n10,nan,7,-inf\n");
  History back({.csv = path});
  ASSERT_EQ(back.rows().size(), 3u);
  EXPECT_EQ(back.column("lr"), (std::vector<std::pair<int64_t, double>>{{1, 0.1}, {10, 7}}));
  EXPECT_EQ(back.rows()[2].values.at("a \"b\", c"), -INFINITY);
  EXPECT_TRUE(std::isnan(back.rows()[2].values.at("loss")));
}

TEST(History, RowsOfAnEarlierProcessGoWhenTheirStepComesAgain) {
  Folder folder;
  const std::string path = folder / "h.csv";
  {
    History h({.csv = path});
    for (int i = 1; i <= 5; ++i) h.log(i, {{"x", i}});
  }
  write_bytes(path, read_bytes(path) + "6,0.");  // torn
  History h({.csv = path});
  h.log(3, {{"x", 30}});
  h.log(3, {{"x", 31}});
  EXPECT_EQ(error_of([&] { h.log(2, {}); }), "History: step 2 comes after step 3");
  EXPECT_EQ(h.rows().size(), 3u);
  h.sync();
  EXPECT_EQ(read_bytes(path), "step,x\n1,1\n2,2\n3,31\n");
}

TEST(History, ACheckpointSaysWhereItGoesOn) {
  Folder folder;
  const std::string path = folder / "h.csv";
  {
    History h({.csv = path});
    train::Checkpoint c(folder / "c");
    c.add("history", h);
    for (int i = 1; i <= 9; ++i) {
      h.log(i, {{"x", i}});
      if (i == 4) c.save(4);
      if (i % 4 == 0) h.log(i, {{"val", i}});
    }
  }
  auto resume = [&](History& h) {
    train::Checkpoint c(folder / "c");
    c.add("history", h);
    c.resume();
  };
  {
    History h({.csv = path});
    resume(h);
    h.log(4, {{"val", 4}});
    h.log(5, {{"x", 5}});
  }
  EXPECT_EQ(read_bytes(path), "step,x,val\n1,1,\n2,2,\n3,3,\n4,4,4\n5,5,\n");
  write_bytes(path, "step,x\n1,1\n");
  EXPECT_EQ(warnings_of([&] {
              History h({.csv = path});
              resume(h);
            }),
            "dyadic: warning: History: " + path + " has 1 of the 4 rows that were there when the checkpoint was made\n");
}

TEST(History, InMemoryItIsInTheCheckpoint) {
  Folder folder;
  History h, back;
  h.log(1, {{"x", NAN}});
  h.log(2, {{"x", 2}, {"y", INFINITY}});
  train::Checkpoint c(folder / "c"), d(folder / "c");
  c.add("history", h).save(2);
  d.add("history", back).resume();
  ASSERT_EQ(back.rows().size(), 2u);
  EXPECT_TRUE(std::isnan(back.rows()[0].values.at("x")));
  EXPECT_EQ(back.rows()[1].values, h.rows()[1].values);
}

TEST(History, WhatIsNoHistoryIsRefused) {
  Folder folder;
  const std::string path = folder / "h.csv";
  write_bytes(path, "name,x\na,1\n");
  EXPECT_EQ(error_of([&] { History h({.csv = path}); }),
            "History: " + path + " is no history: its first column is \"name\", not step; choose another file");
  write_bytes(path, "abc");
  EXPECT_NE(error_of([&] { History h({.csv = path}); }), "no error");
  EXPECT_EQ(read_bytes(path), "abc");
  for (const char* row : {"1", "1,2,3", "x,1", "1,y", "0,1", "1.5,1"}) {
    write_bytes(path, std::string("step,x\n0,1\n") + row + "\n");
    EXPECT_EQ(error_of([&] { History h({.csv = path}); }),
              "History: " + path + ", line 3: not a row of 1 numbers behind a step that is larger than the last")
        << row;
  }
}

// A reader of its own: TFRecords, and the fields of a message as (number, wire type, bytes or value).
struct Field {
  int number;
  int wire;
  uint64_t value;
  std::string bytes;
};
std::vector<Field> fields_of(const std::string& m) {
  std::vector<Field> out;
  size_t i = 0;
  auto varint = [&] {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      v |= uint64_t(m.at(i) & 127) << shift;
      if (!(m.at(i++) & 128)) return v;
    }
  };
  while (i < m.size()) {
    const uint64_t key = varint();
    Field f{int(key >> 3), int(key & 7), 0, ""};
    if (f.wire == 0) {
      f.value = varint();
    } else {
      const size_t n = f.wire == 1 ? 8 : f.wire == 5 ? 4 : varint();
      f.bytes = m.substr(i, n);
      i += n;
    }
    out.push_back(f);
  }
  return out;
}
std::string field(const std::string& m, int number) {
  for (const Field& f : fields_of(m))
    if (f.number == number) return f.wire == 0 ? std::to_string(f.value) : f.bytes;
  return "";
}
template <class T> T as(const std::string& bytes) {
  T v{};
  EXPECT_EQ(bytes.size(), sizeof v);
  std::memcpy(&v, bytes.data(), sizeof v);
  return v;
}
std::vector<std::string> records_of(const std::string& path) {
  const std::string all = read_bytes(path);
  std::vector<std::string> out;
  for (size_t i = 0; i < all.size();) {
    const auto n = as<uint64_t>(all.substr(i, 8));
    EXPECT_EQ(as<uint32_t>(all.substr(i + 8, 4)), train::masked_crc32c(all.substr(i, 8)));
    out.push_back(all.substr(i + 12, n));
    EXPECT_EQ(as<uint32_t>(all.substr(i + 12 + n, 4)), train::masked_crc32c(out.back()));
    i += 16 + n;
  }
  return out;
}

TEST(EventFile, ScalarsAndTexts) {
  Folder folder;
  train::EventFile f(folder / "tb");
  f.scalar("loss/train", 0.25, 300);
  f.text("note", "caf\xc3\xa9", 5);
  f.restart(7);
  const auto records = records_of(f.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(field(records[0], 3), "brain.Event:2");
  EXPECT_GT(as<double>(field(records[0], 1)), 1e9);
  EXPECT_EQ(field(records[1], 2), "300");
  const std::string scalar = field(field(records[1], 5), 1);
  EXPECT_EQ(field(scalar, 1), "loss/train");
  EXPECT_EQ(as<float>(field(scalar, 2)), 0.25f);
  const std::string text = field(field(records[2], 5), 1);
  EXPECT_EQ(field(text, 1), "note");
  EXPECT_EQ(field(field(field(text, 9), 1), 1), "text");
  EXPECT_EQ(field(field(text, 8), 1), "7");
  EXPECT_EQ(field(field(text, 8), 8), "caf\xc3\xa9");
  EXPECT_EQ(field(field(records[3], 7), 1), "1");
  EXPECT_EQ(field(records[3], 2), "7");
  EXPECT_EQ(train::crc32c(""), 0u);
  EXPECT_EQ(train::crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(train::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(EventFile, AHistoryWritesOne) {
  Folder folder;
  {
    History h({.csv = folder / "h.csv", .tensorboard = folder / "tb"});
    h.log(1, {{"a", 1}, {"b", 2}});
    h.text("t", "x", 1);
  }
  History again({.csv = folder / "h.csv", .tensorboard = folder / "tb"});
  again.log(1, {{"a", 1}});
  std::vector<std::string> files;
  for (auto& e : std::filesystem::directory_iterator(folder / "tb")) files.push_back(e.path().native());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(records_of(files[0]).size(), 4u);
  const auto records = records_of(files[1]);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(field(field(records[1], 7), 1), "1");  // what the first file says of step 1 no longer counts
}

}  // namespace
}  // namespace dyadic
