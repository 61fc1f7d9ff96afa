#include "plan/stowed.h"

#include <algorithm>
#include <utility>

#include "tensor/impl.h"

namespace dyadic::inline v1::planning {
namespace {

constexpr int64_t kAhead = int64_t(64) << 20;  // bytes that are on their way while others are worked on
constexpr char kWhat[] = "activations";

}  // namespace

int64_t StowFile::write(const void* data, int64_t bytes) {
  file_.write(end_, data, bytes, kWhat);
  return std::exchange(end_, end_ + bytes);
}

void StowFile::read(int64_t at, void* to, int64_t bytes) {
  const int64_t until = std::min(asked_, at), from = std::max<int64_t>(at - kAhead, 0);
  if (const int64_t more = until - from; more > (from ? kAhead / 2 : 0)) file_.read_ahead(from, more), asked_ = from;
  file_.read(at, to, bytes, kWhat);
}

Stowed::Stowed(const Tensor& t, std::shared_ptr<StowFile> file)
    : file_(std::move(file)), bytes_(t.impl()->storage->bytes), version_(t.version()), dtype_(t.dtype()), device_(t.device()) {
  if (file_) at_ = file_->write(t.impl()->storage->data, bytes_);
}
Stowed::~Stowed() {
  if (file_) file_->free(at_, bytes_);
}

bool Stowed::is_of(const Tensor& t) const { return t.dtype() == dtype_ && t.version() == version_; }

Tensor Stowed::read() const {
  const int64_t n = bytes_ / dtype_.itemsize();
  Tensor t = make_tensor({n}, dtype_, device_);
  if (file_) file_->read(at_, t.impl()->storage->data, bytes_);
  return t;
}

}  // namespace dyadic::inline v1::planning
