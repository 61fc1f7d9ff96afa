#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"

namespace dyadic::inline v1::io {
namespace {

namespace fs = std::filesystem;
constexpr size_t kPiece = size_t(1) << 24;  // the disk is given at a time

}  // namespace

void AtomicFile::fail_with(int error) const {
  fail("{}: cannot write {}: {}; make room or choose another path, nothing was overwritten", who_, path_, std::strerror(error));
}

AtomicFile::AtomicFile(std::string who, std::string path) : who_(std::move(who)), path_(std::move(path)) {
  struct stat s;
  if (lstat(path_.c_str(), &s) == 0 && S_ISLNK(s.st_mode)) {
    std::error_code error;
    fs::path target = fs::weakly_canonical(path_, error);
    if (error) fail_with(error.value());
    path_ = target.native();
  }
  bool exists = stat(path_.c_str(), &s) == 0;
  if (exists && S_ISDIR(s.st_mode)) fail_with(EISDIR);
  DY_CHECK(!exists || S_ISREG(s.st_mode), "{}: cannot write {}: it is a device or a pipe; choose another path", who_, path_);
  if (exists && access(path_.c_str(), W_OK) != 0) fail_with(errno);
  open_temporary();
  if (exists) (void)fchmod(fd_, s.st_mode & 0777);  // as it was; a foreign file's mode can't always be given
}

// Note [Left-over temporaries]: the name is fixed, so that a killed run's remains are overwritten by the next, not piled up; a
// lock keeps two writers of one path apart.
void AtomicFile::open_temporary() {
  temporary_ = path_ + ".tmp";
  for (;;) {
    fd_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0) fail_with(errno);
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(fd_, -1));
      fail("{}: cannot write {}: another process is writing it; wait for it, or choose another path", who_, path_);
    }
    struct stat mine, named;  // the other writer may have renamed it between open and lock
    bool same = fstat(fd_, &mine) == 0 && stat(temporary_.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
                mine.st_dev == named.st_dev;
    if (same) break;
    close(fd_);
  }
  if (ftruncate(fd_, 0) != 0) {
    int error = errno;
    close(std::exchange(fd_, -1));
    fail_with(error);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  unlink(temporary_.c_str());
  close(fd_);
}

void AtomicFile::write(const void* data, size_t bytes) {
  write_at(at_, data, bytes);
  at_ += bytes;
}

void AtomicFile::write_at(uint64_t offset, const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t n = pwrite(fd_, p, std::min(bytes, kPiece), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_with(n < 0 ? errno : ENOSPC);
    if ((unsent_ += uint64_t(n)) >= kPiece) {  // the disk begins while the next is made, not at commit
      (void)sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
      unsent_ = 0;
    }
    p += n;
    offset += uint64_t(n);
    bytes -= size_t(n);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail_with(errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_with(errno);
  close(std::exchange(fd_, -1));
  // The rename itself lives in the folder. Some file systems cannot sync one; the file is complete all the same.
  std::string folder = fs::path(path_).parent_path().native();
  int d = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) return;
  (void)fsync(d);
  close(d);
}

void remove_leftover(const std::string& path) {
  const std::string temporary = path + ".tmp";
  int fd = open(temporary.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(temporary.c_str());
  close(fd);
}

void write_whole(const std::string& who, const std::string& path, std::string_view content) {
  AtomicFile file(who, path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace dyadic::inline v1::io
