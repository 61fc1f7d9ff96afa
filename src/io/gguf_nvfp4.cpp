// NVFP4 between ggml's blocks and the planes of nvfp4. Of each 64 elements a block has four scales, e4m3 without a sign, then
// for each of four 16 the codes: byte j has element j low and element j + 8 high. The planes have the codes row by row, the
// even element low. Both say value(code) * scale, so nothing is rounded.
#include "base/parallel.h"
#include "dyadic/planes.h"
#include "formats/layout.h"
#include "formats/packed.h"
#include "io/gguf.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kElements = 64, kBytes = 36, kScales = 4, kGroup = 16;
constexpr uint8_t kNan = 0x7f;  // of e4m3; ggml reads it as 0

}  // namespace

Tensor read_nvfp4(const char* blocks, IntList shape, const std::function<void(const std::string&)>& refuse) {
  const Tensor t = make_tensor(shape, nvfp4, cpu);
  if (t.numel() == 0) return t;
  const auto* from = reinterpret_cast<const uint8_t*>(blocks);
  const int64_t count = t.numel() / kElements;
  for (int64_t b = 0; b < count; ++b)
    for (int64_t s = 0; s < kScales; ++s)
      if (from[b * kBytes + s] == 0xff)
        refuse(fmt::format("scale {} is byte 255, which no writer makes of a number", b * kScales + s));
  const GroupLayout l = group_layout(*nvfp4.format(), t.impl()->storage->geometry);
  auto* base = static_cast<uint8_t*>(t.impl()->storage->data);
  std::memset(base, 0, size_t(planes_of(*nvfp4.format(), t.impl()->storage->geometry).buffer_bytes));  // between planes too
  const float one = 1;
  std::memcpy(base + l.tensor_scale, &one, sizeof one);
  parallel_for(count, 256, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const uint8_t* block = from + b * kBytes;
      for (int64_t s = 0; s < kScales; ++s) {
        const uint8_t scale = block[s] & 0x7f;
        base[l.scales + b * kScales + s] = scale == kNan ? 0 : scale;
        const uint8_t* in = block + kScales + s * kGroup / 2;
        uint8_t* out = base + l.codes + (b * kScales + s) * kGroup / 2;
        for (int64_t j = 0; j < kGroup / 4; ++j) {
          out[j] = uint8_t((in[2 * j] & 15) | in[2 * j + 1] << 4);
          out[j + kGroup / 4] = uint8_t(in[2 * j] >> 4 | (in[2 * j + 1] & 0xf0));
        }
      }
    }
  });
  return t;
}

std::string write_nvfp4(const Tensor& t, const std::function<void(const std::string&)>& refuse) {
  const std::vector<std::pair<std::string, Tensor>> plane = planes(t);
  const auto* codes = static_cast<const uint8_t*>(plane[0].second.data_ptr());
  const auto* scales = static_cast<const uint8_t*>(plane[1].second.data_ptr());
  const float whole = *static_cast<const float*>(plane[2].second.data_ptr());
  if (t.numel() && whole != 1)
    refuse(
        fmt::format("its scale of the whole tensor is {}, for which NVFP4 in GGUF has no place; convert it with .to(mxfp4) "
                    "or .to(f16)",
                    whole));
  const int64_t count = t.numel() / kElements;
  std::string out(size_t(count * kBytes), '\0');
  for (int64_t b = 0; b < count; ++b) {
    auto* block = reinterpret_cast<uint8_t*>(out.data()) + b * kBytes;
    for (int64_t s = 0; s < kScales; ++s) {
      const uint8_t scale = scales[b * kScales + s];
      if (scale >= kNan) refuse(fmt::format("scale {} is NaN or negative", b * kScales + s));
      block[s] = scale;
      const uint8_t* in = codes + (b * kScales + s) * kGroup / 2;
      uint8_t* to = block + kScales + s * kGroup / 2;
      for (int64_t j = 0; j < kGroup / 2; ++j) {
        const int low = in[j / 2] >> (j % 2 * 4) & 15, high = in[j / 2 + kGroup / 4] >> (j % 2 * 4) & 15;
        to[j] = uint8_t(low | high << 4);
      }
    }
  }
  return out;
}

}  // namespace dyadic::inline v1::io
