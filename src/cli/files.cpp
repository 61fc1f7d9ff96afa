#include "cli/files.h"

#include "base/interrupt.h"

namespace dyadic::inline v1::cli {

void Steps::step() {
  if (interrupted()) throw Stopped{};
  if (!progress_ && std::chrono::steady_clock::now() - begin_ > std::chrono::seconds(2)) {
    progress_ = std::make_unique<train::Progress>();
    progress_->begin(name_, total_, done_);
  }
  if (progress_) progress_->step(done_);
  ++done_;
}

Steps::~Steps() {
  if (progress_) progress_->end();
}

std::string dtype_text(const io::TensorInfo& t) { return t.dtype ? t.dtype.name() : t.stored; }

int64_t elements(const io::TensorInfo& t) {
  int64_t n = 1;
  for (int64_t size : t.shape)
    if (__builtin_mul_overflow(n, size, &n)) return 0;  // of a dtype that nothing here holds
  return n;
}

}  // namespace dyadic::inline v1::cli
