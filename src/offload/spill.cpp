#include "offload/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/autograd.h"
#include "tensor/absent.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kAlign = 4096;  // of what is mapped by itself

struct Mapping {
  void* at;
  size_t bytes;
  std::shared_ptr<Spill> file;
};
bool begins_and_fills_its_storage(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  const Geometry& g = i.storage->geometry;
  return t.is_contiguous() && i.offset == 0 && (!t.dtype().is_blocked() || t.numel() == g.rows * g.cols);
}
void free_blank(void*) {}
void unmap(void* context) {
  const std::unique_ptr<Mapping> m(static_cast<Mapping*>(context));
  munmap(m->at, m->bytes);
}

}  // namespace

std::shared_ptr<Spill> Spill::make(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder, error.message());
  std::shared_ptr<Spill> s(new Spill(folder));
  s->file_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (s->file_ < 0) {  // not every file system can
    std::string name = folder + "/offload-XXXXXX";
    s->file_ = mkostemp(name.data(), O_CLOEXEC);
    if (s->file_ >= 0) unlink(name.c_str());
  }
  DY_CHECK(s->file_ >= 0, "{}: no file can be made in it: {}", folder, std::strerror(errno));
  return s;
}
Spill::~Spill() {
  if (file_ >= 0) close(file_);
}

Tensor Spill::put(const Tensor& t, bool writable) {
  const NoGrad guard;
  const Tensor whole = begins_and_fills_its_storage(t) ? t : t.is_contiguous() ? t.clone() : t.contiguous();
  const int64_t bytes = buffer_bytes(whole);
  if (bytes == 0) return whole;
  const auto fail_of = [&](const char* what) {
    fail("{}: {} of weights cannot be {} there: {}", folder_, human_bytes(bytes), what, std::strerror(errno));
  };
  const auto* from = static_cast<const char*>(whole.impl()->storage->data);
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file_, from + done, size_t(std::min<int64_t>(bytes - done, int64_t(1) << 30)), end_ + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_of("written");
    done += n;
  }
  // The last page is the file's to its end.
  const int64_t pages = (bytes + kAlign - 1) / kAlign * kAlign;
  if (ftruncate(file_, end_ + pages) != 0) fail_of("written");
  auto m = std::make_unique<Mapping>(Mapping{nullptr, size_t(bytes), shared_from_this()});
  m->at = mmap(nullptr, m->bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, file_, end_);
  if (m->at == MAP_FAILED) fail_of("mapped");
  end_ += pages;
  Tensor there;
  try {
    there = make_foreign_view(m->at, whole.sizes(), whole.dtype(), unmap, m.get());
  } catch (...) {
    munmap(m->at, m->bytes);
    throw;
  }
  m.release();
  there.impl()->storage->read_only = !writable;
  set_category(there, whole.impl()->storage->category);
  return there;
}

Tensor Spill::blank(const Tensor& t) {
  const Tensor there = make_absent(t);
  there.impl()->storage->free_foreign = free_blank;
  return there;
}

bool is_spilled(const Tensor& t) {
  const auto free = t.impl()->storage->free_foreign;
  return free == unmap || free == free_blank;
}
Tensor put_beside(const Tensor& there, const Tensor& t) {
  if (there.is_meta()) return Spill::blank(t);
  const std::shared_ptr<Spill> file = static_cast<Mapping*>(there.impl()->storage->foreign)->file;
  return file->put(t, true);
}

}  // namespace dyadic::inline v1::offload
