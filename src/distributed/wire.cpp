#include "distributed/wire.h"

#include <cstring>

#include "base/check.h"
#include "dyadic/ops.h"
#include "tensor/absent.h"

namespace dyadic::inline v1::distributed {
namespace {

bool fits(DType d, int64_t numel) { return !d.is_scaled() || (numel && numel % d.format()->row_step() == 0); }

}  // namespace

void check_wire(DType d) {
  DY_CHECK_AS(
      TypeError, (d.is_floating_point() || d.is_scaled()) && d.bits() <= 32 && d.format()->can_encode(),
      "distributed: gradients do not travel in {}; take a float of at most 32 bits or a format with scales, such as bf16 "
      "or dynamic8",
      d.name());
}

Wire::Wire(DType dtype, const std::vector<Part>& parts, std::vector<Range> slices, DType sums)
    : slices_(std::move(slices)), sums_(sums) {
  int64_t at = 0, byte = 0;
  size_t r = 0;
  bytes_.resize(slices_.size());
  for (const Part& part : parts) {
    while (at >= slices_[r].end && r + 1 < slices_.size()) bytes_[r].end = byte, bytes_[++r].begin = byte;
    const DType d = part.plain || !fits(dtype, part.numel) ? sums : dtype;
    segments_.push_back({at, part.numel, byte, d});
    at += part.numel;
    byte += (buffer_bytes(empty({part.numel}, d, meta)) + kAlign - 1) / kAlign * kAlign;
  }
  for (bytes_[r].end = byte; ++r < bytes_.size();) bytes_[r] = {byte, byte};
}

Tensor Wire::encode(const Tensor& flat, const Tensor& rest, double scale) const {
  const Tensor out = zeros({bytes_.back().end}, u8, flat.device());
  for (const Segment& s : segments_) {
    const Tensor lost = rest.narrow(0, s.at, s.numel);
    const Tensor values = flat.narrow(0, s.at, s.numel) + lost * scale, coded = values.to(s.dtype);
    lost.copy_(nan_to_num((values - coded.to(sums_)) / scale, 0, 0, 0));
    if (char* to = bytes_of(out); to && s.numel) std::memcpy(to + s.byte, coded.impl()->data(), size_t(buffer_bytes(coded)));
  }
  return out;
}

void Wire::decode(int rank, const Tensor& bytes, const Tensor& slice) const {
  const Range elements = slices_[size_t(rank)];
  for (const Segment& s : segments_) {
    if (s.at < elements.begin || s.at + s.numel > elements.end || !s.numel) continue;
    const Tensor coded = empty({s.numel}, s.dtype, slice.device());
    if (const char* from = bytes_of(bytes))
      std::memcpy(coded.impl()->data(), from + s.byte - bytes_[size_t(rank)].begin, size_t(buffer_bytes(coded)));
    slice.narrow(0, s.at - elements.begin, s.numel).copy_(coded.to(sums_));
  }
}

}  // namespace dyadic::inline v1::distributed
