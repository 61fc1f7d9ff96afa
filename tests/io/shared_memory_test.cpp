// Memory that several processes map: what is written through one mapping the other shows.
#include "io/shared_memory.h"

#include <unistd.h>

#include "dyadic/memmap.h"
#include "dyadic/ops.h"
#include "tests/io/helpers.h"

namespace dyadic::testing {
namespace {

Tensor as_another_process(const Tensor& t, DType dtype) {
  const io::FilePart p = io::shared_part(t);
  const int64_t shape[] = {p.bytes / dtype.itemsize()};
  return io::map_shared(dup(p.file), "part", shape, dtype, p.offset);
}

TEST(SharedMemory, WritesAreSeenBothWays) {
  for (int64_t n : {3, 100000}) {  // behind the storage's header, and not
    Tensor t = arange(n).to(f32), view = t.narrow(0, 1, 2);
    io::share_memory(t);
    io::share_memory(t);
    Tensor other = as_another_process(view, f32);
    EXPECT_TRUE(io::is_shared(view));
    EXPECT_EQ(other.to_vector(), t.to_vector());
    other.fill_(7);
    view.fill_(8);
    EXPECT_EQ(t.select(0, 0).item<float>(), 7);
    EXPECT_EQ(other.select(0, 2).item<float>(), 8);
  }
}

TEST(SharedMemory, FilesMappedToBeWrittenAreSharedFromTheirOffset) {
  const Folder folder;
  write_bytes(folder / "raw", std::string(32, '\0'));
  Tensor t = memmap(folder / "raw", {.dtype = f32, .shape = {{4}}, .mode = "r+", .offset = 12});
  t.copy_(arange(4).to(f32));
  EXPECT_EQ(as_another_process(t, f32).to_vector(), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(memmap(folder / "raw", {.dtype = f32, .offset = 16}).to_vector(), (std::vector<double>{1, 2, 3, 0}));
}

TEST(SharedMemory, RefusesWhatItCannotShare) {
  const Folder folder;
  write_bytes(folder / "raw", std::string(8, '\0'));
  const Tensor own = ones({2}), read = memmap(folder / "raw", {.dtype = f32});
  EXPECT_THROW(io::shared_part(own), Error);
  EXPECT_THROW(io::share_memory(read), Error);
  EXPECT_THROW(io::share_memory(ones({2}, TensorOptions().device(meta))), Error);
  EXPECT_FALSE(io::is_shared(own));
  io::share_memory(own);
  const int64_t more[] = {1 << 20};
  EXPECT_THROW(io::map_shared(dup(io::shared_part(own).file), "part", more, u8), Error);
}

}  // namespace
}  // namespace dyadic::testing
