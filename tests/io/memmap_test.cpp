// Files as tensors: numpy's and raw ones, every mode, and files that are not what they say.
#include "dyadic/memmap.h"

#include "io/npy.h"
#include "tests/io/helpers.h"

namespace dyadic::testing {
namespace {

std::string numpy_file(std::string header, std::string_view data, int version = 1) {
  header.resize((header.size() + 13 + 63) / 64 * 64 - (version == 1 ? 10 : 12) - 1, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  out += char(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += char(header.size() >> 8 * i & 255);
  return out + header + std::string(data);
}
std::string bytes_of(const std::vector<float>& v) { return {reinterpret_cast<const char*>(v.data()), 4 * v.size()}; }
std::string message(const std::string& path, const MemmapOptions& o = {}) {
  try {
    memmap(path, o);
  } catch (const Error& e) {
    const std::string text = e.what();
    return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
  }
  return "";
}

TEST(Memmap, ReadsNumpyAndRawFiles) {
  const Folder folder;
  const std::string data = bytes_of({1, 2, 3, 4, 5, 6});
  for (int version : {1, 2, 3}) {
    write_bytes(folder / "a.npy", numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, version));
    const Tensor t = memmap(folder / "a.npy");
    EXPECT_EQ(t.sizes(), IntList({2, 3}));
    EXPECT_EQ(t.to_vector(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
  write_bytes(folder / "f.npy", numpy_file("{\"shape\":(2,3),\"descr\":'<f4','fortran_order':True}", data));
  EXPECT_EQ(memmap(folder / "f.npy").to_vector(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  write_bytes(folder / "raw", data);
  EXPECT_EQ(memmap(folder / "raw", {.dtype = f32}).to_vector().size(), 6u);
  EXPECT_EQ(memmap(folder / "raw", {.dtype = f32, .shape = {{2}}, .offset = 8}).to_vector(), (std::vector<double>{3, 4}));
  write_bytes(folder / "none", "");
  EXPECT_EQ(memmap(folder / "none", {.dtype = f32}).numel(), 0);
}

TEST(Memmap, ModesSayWhoSeesWrites) {
  const Folder folder;
  const std::string path = folder / "raw";
  write_bytes(path, bytes_of({1, 2}));
  const Tensor reader = memmap(path, {.dtype = f32}), own = memmap(path, {.dtype = f32, .mode = "c"});
  own.fill_(9);
  EXPECT_EQ(reader.to_vector(), (std::vector<double>{1, 2}));
  {
    const Tensor writer = memmap(path, {.dtype = f32, .mode = "r+"});
    writer.mul_(3);
    EXPECT_EQ(reader.to_vector(), (std::vector<double>{3, 6}));
  }
  EXPECT_EQ(read_bytes(path), bytes_of({3, 6}));
  EXPECT_THROW(reader.fill_(0), ValueError);
  EXPECT_THROW(reader.view({2, 1}).add_(reader.view({2, 1})), ValueError);
  EXPECT_THROW(reader.copy_(own), ValueError);
  EXPECT_THROW(call_out(Op::exp_, reader, own), ValueError);
  EXPECT_THROW(reader.index_put_({int64_t(0)}, 1.0), ValueError);
  EXPECT_EQ((reader + 1).to_vector(), (std::vector<double>{4, 7}));
}

TEST(Memmap, MakesFiles) {
  const Folder folder;
  {
    const Tensor t = memmap(folder / "new.npy", {.dtype = i16, .shape = {{2, 2}}, .mode = "w+"});
    EXPECT_EQ(t.to_vector(), (std::vector<double>{0, 0, 0, 0}));
    t.fill_(7);
  }
  EXPECT_EQ(memmap(folder / "new.npy").dtype(), i16);
  EXPECT_EQ(memmap(folder / "new.npy").to_vector(), (std::vector<double>{7, 7, 7, 7}));
  memmap(folder / "new", {.dtype = f64, .shape = {{3}}, .mode = "w+", .offset = 8});
  EXPECT_EQ(fs::file_size(folder / "new"), 32u);
  EXPECT_THROW(memmap(folder / "x", {.dtype = f64, .mode = "w+"}), ValueError);
  EXPECT_THROW(memmap(folder / "x", {.dtype = f64, .shape = {{int64_t(1) << 58}}, .mode = "w+"}), Error);
}

TEST(Memmap, CountsInNoLimitAndTouchesNothingUnasked) {
  const Folder folder;
  const int64_t elements = int64_t(1) << 32;  // 16 GiB, a hole
  write_bytes(folder / "hole", "");
  fs::resize_file(folder / "hole", uint64_t(elements) * 4);
  const int64_t before = memory_allocated();
  const Tensor t = memmap(folder / "hole", {.dtype = f32});
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_EQ(t[elements - 1].item(), 0);
}

TEST(Memmap, RefusesWhatIsNotWhatItSays) {
  const Folder folder;
  const std::string path = folder / "bad.npy";
  const std::pair<std::string, std::string> bad[] = {
      {"", "not a .npy file: it does not begin as one"},
      {"PK\x03\x04 and so on", "not a .npy file: it does not begin as one"},
      {numpy_file("{}", "", 9), "a .npy file of version 9; 1 to 3 are known"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{'descr'", 16), "not a .npy file: its header of 65535 bytes is cut or too long"},
      {numpy_file("[]", ""), "not a .npy file: in its header '{' is missing"},
      {numpy_file("{'descr': '<f4'}", ""), "not a .npy file: in its header a key of descr, fortran_order and shape is missing"},
      {numpy_file("{'descr': '<f4", ""), "not a .npy file: in its header a quote is open"},
      {numpy_file("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "12345678"),
       "not a .npy file: in its header descr is Python's objects, which are pickled; only plain numbers are read"},
      {numpy_file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "1234"),
       "its numbers are big-endian, and are not mapped; load_npy reads them"},
      {numpy_file("{'descr': 'a\nb', 'fortran_order': False, 'shape': (1,)}", "1234"),
       "not a .npy file: in its header descr 'a?b' is no dtype of Dyadic"},
      {numpy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"),
       "not a .npy file: in its header descr is a structure; only plain numbers are read"},
      {numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"),
       "too short: f32[2] from byte 128 on is 8 bytes, the file has 132"},
      {numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
       "not a .npy file: in its header a size is too large"},
      {numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
       "not a .npy file: in its header a size of shape is no number"},
      {numpy_file("{'descr': '<f4', 'fortran_order': 2, 'shape': (1,)}", ""),
       "not a .npy file: in its header fortran_order is neither True nor False"},
      {numpy_file("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", ""),
       "not a .npy file: in its header its keys are not descr, fortran_order and shape"},
  };
  for (const auto& [bytes, text] : bad) {
    write_bytes(path, bytes);
    EXPECT_EQ(message(path), text);
  }
  write_bytes(path, numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", ""));
  EXPECT_THROW(memmap(path), ValueError);
}

TEST(Memmap, RefusesCalls) {
  const Folder folder;
  const std::string path = folder / "raw";
  write_bytes(path, "12345");
  EXPECT_EQ(message(path), "memmap: which dtype? " + path + " does not say; give one");
  EXPECT_EQ(message(path, {.dtype = f32}), "5 bytes from byte 0 on are no whole elements of f32; give a shape");
  EXPECT_EQ(message(path, {.dtype = f32, .shape = {{1}}, .offset = 1}),
            "the offset is not a multiple of the element: 1 bytes, f32 has 4");
  EXPECT_EQ(message(path, {.dtype = u8, .shape = {{6}}}), "too short: u8[6] from byte 0 on is 6 bytes, the file has 5");
  EXPECT_EQ(message(path, {.dtype = u8, .offset = std::numeric_limits<int64_t>::max()}),
            "too short: the offset is 9223372036854775807, the file has 5 bytes");
  EXPECT_EQ(message(path, {.dtype = u8, .mode = "a"}), "memmap: unknown mode \"a\"; the known ones are r, r+, w+ and c");
  EXPECT_EQ(message(folder / "none", {.dtype = u8}), "cannot be mapped: No such file or directory");
  EXPECT_EQ(message(folder.path().native(), {.dtype = u8}), "cannot be mapped: it is not a regular file");
  EXPECT_EQ(message(path, {.dtype = nf4}), "memmap: only plain dtypes are mapped: dtype is " + DType(nf4).name());
}

TEST(Memmap, HeadersOfOurOwnAreReadAgain) {
  for (DType d : {f64, f32, f16, i64, u8, boolean, c64})
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 0, 5}}) {
      const std::string text = io::npy_header(d, shape);
      const io::NpyHeader h = io::parse_npy_header("x", text);
      EXPECT_EQ(h.dtype, d);
      EXPECT_EQ(h.shape, shape);
      EXPECT_EQ(h.size % 64, 0);
      EXPECT_EQ(h.size, int64_t(text.size()));
    }
}

}  // namespace
}  // namespace dyadic::testing
