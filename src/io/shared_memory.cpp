#include "io/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"

namespace dyadic::inline v1::io {
namespace {

class OwnFile {
  int file_;

 public:
  explicit OwnFile(int file) : file_(file) {}
  OwnFile(OwnFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~OwnFile() {
    if (file_ >= 0) close(file_);
  }
  int number() const { return file_; }
};

// What a shared storage's `foreign` is.
struct Mapping {
  OwnFile file;
  void* at;  // whole pages
  size_t size;
  int64_t offset, bytes;
  void* before = nullptr;  // where others look who were lent the memory before it was shared
  int64_t charged = 0;

  char* data() const { return static_cast<char*>(at) + size_t(offset) % size_t(sysconf(_SC_PAGESIZE)); }
};

void unmap(void* context) {
  auto* m = static_cast<Mapping*>(context);
  munmap(m->at, m->size);
  if (m->before) device_release(cpu, m->before, m->charged);
  delete m;
}

std::unique_ptr<Mapping> map(OwnFile file, const std::string& name, int64_t offset, int64_t bytes) {
  const auto within = size_t(offset) % size_t(sysconf(_SC_PAGESIZE)), size = within + size_t(bytes);
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), offset - int64_t(within));
  DY_CHECK(at != MAP_FAILED, "{}: cannot be mapped: {}", name, std::strerror(errno));
  return std::unique_ptr<Mapping>(new Mapping{std::move(file), at, size, offset, bytes});
}

const Mapping& mapping_of(const Tensor& t) { return *static_cast<const Mapping*>(t.impl()->storage->foreign); }

}  // namespace

Tensor map_shared(int file, const std::string& name, IntList shape, DType dtype, int64_t offset) {
  OwnFile own(file);
  const int64_t bytes = checked_numel("share_memory_", shape) * dtype.itemsize(), end = lseek(file, 0, SEEK_END);
  DY_CHECK(bytes > 0 && end >= offset + bytes, "{}: too short: bytes {} to {} are wanted, it has {}", name, offset,
           offset + bytes, end);
  std::unique_ptr<Mapping> made = map(std::move(own), name, offset, bytes);
  Tensor t = make_foreign_view(made->data(), shape, dtype, unmap, made.get());
  t.impl()->storage->category = Category::data;
  made.release();
  return t;
}

bool is_shared(const Tensor& t) { return t.impl()->storage->free_foreign == unmap; }

void share_memory(const Tensor& t) {
  Storage& s = *t.impl()->storage;
  if (is_shared(t) || s.bytes == 0 || t.device().is_cuda()) return;
  DY_CHECK(!t.is_meta(), "share_memory_: a meta tensor has no memory: self is {}", describe(t));
  DY_CHECK(!s.read_only, "share_memory_: the memory is a file mapped to be read: self is {}; clone() it", describe(t));
  settle_all();
  OwnFile file(memfd_create("dyadic", MFD_CLOEXEC));
  DY_CHECK(file.number() >= 0 && ftruncate(file.number(), s.bytes) == 0, "share_memory_: no memory for {}: {}", describe(t),
           std::strerror(errno));
  std::unique_ptr<Mapping> made = map(std::move(file), "share_memory_: " + describe(t), 0, s.bytes);
  std::memcpy(made->at, s.data, size_t(s.bytes));
  if (s.free_foreign) {
    s.free_foreign(s.foreign);
  } else if (s.lent && !s.inline_data) {
    made->before = s.data;
    made->charged = s.charged;
  } else if (!s.inline_data) {
    device_release(cpu, s.data, s.charged);
  }
  s.data = made->at;
  s.free_foreign = unmap;
  s.foreign = made.release();
}

FilePart shared_part(const Tensor& t) {
  DY_CHECK(is_shared(t), "share_memory_: the memory is this process's own: self is {}", describe(t));
  const Mapping& m = mapping_of(t);
  return {m.file.number(), m.offset, m.bytes};
}

}  // namespace dyadic::inline v1::io
