#include "base/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/text.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kPiece = int64_t(1) << 30;

[[noreturn]] void refused(const std::string& folder, int64_t bytes, const char* of, const char* done) {
  fail("{}: {} of {} cannot be {} there: {}", folder, human_bytes(bytes), of, done, std::strerror(errno));
}

}  // namespace

UnnamedFile::UnnamedFile(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder_, error.message());
  file_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) {  // not every file system can
    std::string name = folder_ + "/offload-XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) unlink(name.c_str());
  }
  DY_CHECK(file_ >= 0, "{}: no file can be made in it: {}", folder_, std::strerror(errno));
}
UnnamedFile::~UnnamedFile() { close(file_); }

void UnnamedFile::write(int64_t at, const void* data, int64_t bytes, const char* of) {
  const auto* from = static_cast<const char*>(data);
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file_, from + done, size_t(std::min(bytes - done, kPiece)), at + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refused(folder_, bytes, of, "written");
    done += n;
  }
}
void UnnamedFile::read(int64_t at, void* data, int64_t bytes, const char* of) const {
  auto* to = static_cast<char*>(data);
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = pread(file_, to + done, size_t(std::min(bytes - done, kPiece)), at + done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) refused(folder_, bytes, of, "read");
    done += n;
  }
}
void UnnamedFile::read_ahead(int64_t at, int64_t bytes) const { posix_fadvise(file_, at, bytes, POSIX_FADV_WILLNEED); }
void UnnamedFile::forget() const {
  fdatasync(file_);
  posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
}
void UnnamedFile::free(int64_t at, int64_t bytes) const {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes);  // where the system cannot, it is free with the file
}
void UnnamedFile::extend(int64_t bytes, const char* of) {
  if (ftruncate(file_, bytes) != 0) refused(folder_, bytes, of, "written");
}
void* UnnamedFile::map(int64_t at, int64_t bytes, bool writable, const char* of) const {
  void* p = mmap(nullptr, size_t(bytes), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, file_, at);
  if (p == MAP_FAILED) refused(folder_, bytes, of, "mapped");
  return p;
}

}  // namespace dyadic::inline v1
