// A checkpoint that several ranks write in parts, and what is left when one of them fails.
#include "train/parted.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "dyadic/dyadic.h"
#include "io/checkpoint_files.h"
#include "tests/distributed/local_ranks.h"
#include "train/parts.h"

namespace dyadic::inline v1::train {
namespace {

namespace fs = std::filesystem;
using distributed::Group;
using distributed::on_ranks;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("parted-{}", getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file() const { return (path / "checkpoint.safetensors").native(); }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
};

struct Numbers : Part {  // of every rank the same names; `fails` cannot be saved
  nn::NamedTensors tensors;
  bool fails = false;
  explicit Numbers(double value) {
    for (int64_t k = 0; k < 6; ++k) tensors.emplace_back(fmt::format("n{}", k), full({3}, value + double(k), f32));
  }
  State state() override {
    if (fails) throw Error("the disk is full");
    return {tensors};
  }
  void load(const State& saved) override {
    for (auto& [name, t] : saved.tensors)
      for (auto& [mine, place] : tensors)
        if (mine == name) place.copy_(t);
  }
};
double value_of(const Numbers& n, size_t k) { return n.tensors[k].second.select(0, 0).item(); }

// Of n0 ... n5 every rank's own.
auto own(const Group& g) {
  return [rank = g.rank(), size = g.size()](std::string_view name) { return (name.back() - '0') % size == rank; };
}
void save(Group& g, const std::string& file, double value, int64_t step, bool parted, bool fails = false) {
  auto numbers = std::make_unique<Numbers>(value);
  numbers->fails = fails;
  Checkpoint run("");
  data::Callback<bool(std::string_view)> here = own(g);
  if (!parted) here = [](std::string_view) { return true; };
  run.add("numbers", partly(std::move(numbers), here, parted));
  save_at(run, file, step, g, parted);
}
// The value and step there.
std::pair<double, int64_t> load(const std::string& file) {
  auto numbers = std::make_unique<Numbers>(0);
  const Numbers& n = *numbers;
  Checkpoint run("");
  run.add("numbers", std::move(numbers));
  const int64_t step = run.load(saved_at(file)).step;
  for (size_t k = 0; k < 6; ++k) EXPECT_EQ(value_of(n, k), value_of(n, 0) + double(k));
  return {value_of(n, 0), step};
}
void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}

TEST(Parted, AnyNumberOfRanksWritesAndReads) {
  const Folder folder;
  EXPECT_EQ(saved_at(folder.file()), "");
  expect_none(on_ranks(4, [&](Group& g) { save(g, folder.file(), 10, 1, true); }));
  EXPECT_EQ(load(folder.file()), std::pair(10.0, int64_t(1)));
  EXPECT_EQ(folder.files(), 5u);  // four parts and the index
  expect_none(on_ranks(2, [&](Group& g) {
    auto numbers = std::make_unique<Numbers>(0);
    const Numbers& n = *numbers;
    Checkpoint run("");
    run.add("numbers", partly(std::move(numbers), own(g), true));
    run.load(saved_at(folder.file()));
    for (size_t k = 0; k < 6; ++k) EXPECT_EQ(value_of(n, k), double(k) + (int(k) % 2 == g.rank() ? 10 : 0));  // its own alone
  }));
  expect_none(on_ranks(3, [&](Group& g) { save(g, folder.file(), 20, 2, true); }));
  EXPECT_EQ(load(folder.file()), std::pair(20.0, int64_t(2)));
  EXPECT_EQ(folder.files(), 4u);
  expect_none(on_ranks(2, [&](Group& g) { save(g, folder.file(), 30, 3, false); }));
  EXPECT_EQ(load(folder.file()), std::pair(30.0, int64_t(3)));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Parted, ARankThatFailsLeavesTheOldOne) {
  const Folder folder;
  expect_none(on_ranks(3, [&](Group& g) { save(g, folder.file(), 10, 1, true); }));
  for (const std::string& e : on_ranks(3, [&](Group& g) { save(g, folder.file(), 20, 2, true, g.rank() == 1); }))
    EXPECT_EQ(e, "the disk is full");
  EXPECT_EQ(load(folder.file()), std::pair(10.0, int64_t(1)));
  std::ofstream(folder.path / "checkpoint-00001-of-00002.safetensors.tmp") << "killed here";
  expect_none(on_ranks(2, [&](Group& g) { save(g, folder.file(), 30, 3, true); }));
  EXPECT_EQ(load(folder.file()), std::pair(30.0, int64_t(3)));
  EXPECT_EQ(folder.files(), 3u);
}

// A process that ended between writing the one and removing the other.
TEST(Parted, TheLaterOfTwo) {
  const Folder folder;
  expect_none(on_ranks(2, [&](Group& g) { save(g, folder.file(), 10, 1, true); }));
  Checkpoint run("");
  run.add("numbers", std::make_unique<Numbers>(20));
  run.save_file(folder.file(), 2);
  EXPECT_EQ(load(folder.file()), std::pair(20.0, int64_t(2)));
  run.save_file(folder.file(), 0);
  EXPECT_EQ(load(folder.file()), std::pair(10.0, int64_t(1)));
}

// As `dyadic convert` does.
TEST(Parted, OneFileAgain) {
  const Folder folder;
  expect_none(on_ranks(3, [&](Group& g) { save(g, folder.file(), 10, 1, true); }));
  EXPECT_TRUE(io::is_checkpoint(saved_at(folder.file())));
  const std::string one = (folder.path / "one.safetensors").native();
  io::Checkpoint::load(saved_at(folder.file())).save(one);
  EXPECT_EQ(load(one), std::pair(10.0, int64_t(1)));
}

}  // namespace
}  // namespace dyadic::inline v1::train
