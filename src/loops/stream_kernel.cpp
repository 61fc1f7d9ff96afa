// Non-temporal stores, whole lines at a time: a line written in parts costs fifteen times as much.
#include "loops/stream_kernel.h"

#include <hwy/cache_control.h>

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<uint8_t> kBytes;
constexpr int64_t kVector = HWY_LANES(uint8_t);
constexpr int64_t kLine = 64;

void write(char* dst, const char* src, int64_t bytes) {
  int64_t head = int64_t(-reinterpret_cast<uintptr_t>(dst) % uintptr_t(kLine));
  if (head > bytes) head = bytes;
  __builtin_memcpy(dst, src, size_t(head));
  auto* d = reinterpret_cast<uint8_t*>(dst);
  auto* s = reinterpret_cast<const uint8_t*>(src);
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine)
    for (int64_t part = 0; part < kLine; part += kVector) hn::Stream(hn::LoadU(kBytes, s + i + part), kBytes, d + i + part);
  __builtin_memcpy(dst + i, src + i, size_t(bytes - i));
}

void flush() { hwy::FlushStream(); }

}  // namespace

extern const StreamKernel stream_kernel = {write, flush};

}  // namespace dyadic::DY_ISA
