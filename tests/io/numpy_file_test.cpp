// numpy's files (data/make_torch.py), and zips: 64-bit sizes, what is damaged, what lies over one another.
#include "dyadic/numpy_file.h"

#include "dyadic/data_files.h"
#include "dyadic/memmap.h"
#include "dyadic/tensor_file.h"
#include "io/bad_file.h"
#include "io/zip.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

std::string stored_file(const std::string& name) { return test_data("io/data/" + name); }
std::vector<double> counted(int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

TEST(NumpyFile, ArchivesOfNoArrays) {
  const Folder folder;
  io::save(folder / "none.npz", io::NamedTensors());
  EXPECT_EQ(io::open(folder / "none.npz")->kind(), "npz");
  EXPECT_EQ(io::open(folder / "none.npz")->tensors().size(), 0u);
  EXPECT_TRUE(io::load_npz(folder / "none.npz").empty());
}

TEST(NumpyFile, ReadsArchives) {
  for (const char* name : {"numpy_stored.npz", "numpy_deflated.npz"}) {
    const auto file = io::open(stored_file(name));
    EXPECT_EQ(file->kind(), "npz");
    EXPECT_EQ(file->tensors().size(), 7u);
    const io::NamedTensors all = io::load_npz(stored_file(name));
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(content(all[i].second), content(file->get(all[i].first)));
    EXPECT_EQ(file->get("f4").to_vector(), counted(6));
    EXPECT_EQ(file->get("big").to_vector(), counted(6));
    EXPECT_EQ(file->tensors()[1].stored, ">i2");
    EXPECT_EQ(file->tensors()[1].dtype, i16);
    EXPECT_EQ(file->get("fortran").to_vector(), counted(6));
    EXPECT_EQ(file->get("fortran").strides(), IntList({1, 2}));
    EXPECT_EQ(real(file->get("bigfortran")).to_vector(), counted(24));
    EXPECT_EQ(file->get("scalar").item(), 2.5);
    EXPECT_EQ(file->get("scalar").dim(), 0);
    EXPECT_EQ(file->get("bool").dtype(), boolean);
    EXPECT_EQ(file->get("empty").sizes(), IntList({0, 3}));
  }
}

TEST(NumpyFile, ReadsArrays) {
  for (const char* name : {"numpy_v1", "numpy_v2", "numpy_v3"}) {
    const auto file = io::open(stored_file(std::string(name) + ".npy"));
    EXPECT_EQ(file->kind(), "npy");
    EXPECT_EQ(file->tensors()[0].name, name);
    EXPECT_EQ(file->get(0).to_vector(), counted(6));
  }
  EXPECT_EQ(error_of([] { io::open(stored_file("numpy_objects.npy")); }),
            stored_file("numpy_objects.npy") +
                ": not a .npy file: in its header descr is Python's objects, which are pickled; only plain numbers are read");
}

TEST(NumpyFile, WritesWhatItReads) {
  const Folder f;
  for (const bool compressed : {false, true}) {
    const io::NamedTensors all = io::load_npz(stored_file("numpy_stored.npz"));
    io::save_npz(f / "x.npz", all, {.compressed = compressed});
    const io::NamedTensors again = io::load_npz(f / "x.npz");
    ASSERT_EQ(again.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].first, again[i].first);
      EXPECT_EQ(content(all[i].second), content(again[i].second));
    }
    const auto file = io::open(f / "x.npz");
    EXPECT_EQ(file->get("f4").impl()->storage->read_only, !compressed);  // mapped
  }
  io::save_npy(f / "x.npy", arange(3).to(f16));
  EXPECT_EQ(io::open(f / "x.npy")->get("x").to_vector(), counted(3));
  EXPECT_EQ(error_of([&] { io::save_npz(f / "y.npz", {{"a", zeros({1}).to(bf16)}}); }),
            "save_npz: tensor \"a\": npy: numpy has no dtype for bf16; convert it first");
  EXPECT_EQ(error_of([&] { io::save_npz(f / "y.npz", {{"a", zeros({1})}, {"a", zeros({1})}}); }),
            "save_npz: the name \"a\" is there twice; rename one");
  // What an archive's names say, other tools write where it is unpacked.
  for (const char* name : {"../a", "x/../../a", "/a", "a\\b", "C:a"})
    EXPECT_EQ(error_of([&] { io::save_npz(f / "y.npz", {{name, zeros({1})}}); }),
              "zip: the name " + io::quote_name(name + std::string(".npy")) +
                  " would lie outside of the folder that it is unpacked in; rename it")
        << name;
  EXPECT_FALSE(fs::exists(f / "y.npz"));
  io::save_npz(f / "z.npz", {{"x/y..z", zeros({1})}});
}

TEST(NumpyFile, DamageIsSeen) {
  const Folder f;
  io::save_npz(f / "x.npz", {{"a", arange(100).to(f32)}});
  const std::string whole = read_bytes(f / "x.npz");
  const auto load = [&](const std::string& bytes) {
    write_bytes(f / "y.npz", bytes);
    const std::string text = error_of([&] { io::load_npz(f / "y.npz"); });
    return text.starts_with(f / "y.npz") ? text.substr((f / "y.npz").size() + 2) : text;
  };
  std::string changed = whole;
  changed[300] ^= 1;
  EXPECT_EQ(load(changed).substr(0, 60), "entry \"a.npy\", from byte 64 on: it is damaged: its checksum ");
  EXPECT_EQ(load(whole.substr(0, whole.size() - 1)),
            "a zip archive without its directory: it is cut, or was not written to its end");
  EXPECT_EQ(load("PK\3\4"), "a zip archive of 4 bytes; its end alone takes 22");
  EXPECT_EQ(load("PX"), "not a .npz file: it is no zip archive");
  for (size_t n = 0; n < whole.size(); n += 3) EXPECT_NE(load(whole.substr(0, n)), "no error");
}

TEST(Zip, WideSizes) {
  const Folder f;
  for (const uint64_t wide : {uint64_t(1), uint64_t(100), uint64_t(0xffffffff)}) {
    {
      io::ZipWriter out("test", f / "x.zip", wide);
      out.add("a", {"one", "two"});
      out.add("folder/b", {std::string(1000, 'b')}, true);
      out.add("none", {});
      out.commit();
    }
    const std::string bytes = read_bytes(f / "x.zip");
    const io::ZipFile zip("x", bytes);
    ASSERT_EQ(zip.entries().size(), 3u);
    EXPECT_EQ(zip.read(*zip.find("a"), io::ZipFile::Checksum::checked), "onetwo");
    EXPECT_EQ(zip.find("a")->begin % 64, 0u);
    EXPECT_EQ(zip.read(*zip.find("folder/b"), io::ZipFile::Checksum::checked), std::string(1000, 'b'));
    EXPECT_LT(zip.find("folder/b")->packed, 50u);
    EXPECT_EQ(zip.begin_of(*zip.find("folder/b"), 10), std::string(10, 'b'));
    EXPECT_EQ(bytes.find("PK\x06\x06") != bytes.npos, wide < 1000);
  }
}

TEST(Zip, WhatLies) {
  const Folder f;
  {
    io::ZipWriter out("test", f / "x.zip");
    out.add("aaaa", {std::string(100, 'a')});
    out.add("bbbb", {std::string(100, 'b')}, true);
    out.commit();
  }
  const std::string whole = read_bytes(f / "x.zip");
  const size_t first = whole.find("PK\1\2"), second = whole.find("PK\1\2", first + 1);
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string changed = whole;
    changed.replace(at, bytes.size(), bytes);
    return error_of([&] {
      const io::ZipFile zip("x", changed);
      for (const io::ZipEntry& e : zip.entries()) zip.read(e, io::ZipFile::Checksum::checked);
    });
  };
  EXPECT_EQ(with(first, "PK"), "no error");
  EXPECT_EQ(with(second + 46, "aaaa"), "x: entry \"aaaa\" is there twice");
  EXPECT_EQ(with(second + 42, std::string(4, '\0')).substr(0, 12), "x: entries \"");
  EXPECT_EQ(with(second + 24, std::string("\xff\xff\xff\x7f", 4)).substr(0, 16),
            "x: entry \"bbbb\":");  // more than deflate can make
  EXPECT_EQ(with(second + 24, std::string("\x63\0\0\0", 4)).substr(0, 40), "x: entry \"bbbb\": its compressed bytes, f");
  EXPECT_EQ(with(second + 24, std::string("\x65\0\0\0", 4)).substr(0, 40), "x: entry \"bbbb\": its compressed bytes, f");
  EXPECT_EQ(with(first + 24, std::string("\x63\0\0\0", 4)), "x: entry \"aaaa\": 100 bytes cannot be 99");
  EXPECT_EQ(with(first + 8, "\1"), "x: entry \"aaaa\" is encrypted");
  EXPECT_EQ(with(first + 10, "\x0c"), "x: entry \"aaaa\" is compressed by method 12; stored and deflated ones are read");
  EXPECT_EQ(with(first + 20, "\xff\xff").substr(0, 30), "x: entry \"aaaa\": it has 65535 ");
  EXPECT_EQ(with(first + 20, "\xff\xff\xff\xff"),
            "x: entry \"aaaa\": it has 4294967295 bytes from byte 64 on, the file has " + std::to_string(whole.size()));
  EXPECT_EQ(with(whole.size() - 12, "\xff\xff"), "x: the zip archive's directory is too short for 65535 entries");
}

}  // namespace
}  // namespace dyadic::testing
