// mxint8: multiples of 1/64 in blocks of 32 with a power of two as scale (OCP MX, 2023). Codes -127 .. 127.
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

struct Sixtyfourths {
  static constexpr int kBits = 8;
  static constexpr float kLargest = 127.0f / 64;
  static constexpr uint8_t kZero = 0;
  static float value(uint8_t code) { return float(int8_t(code)) / 64; }
  static VF values(VI code) {  // the byte's sign first
    return hn::Mul(hn::ConvertTo(kF32, hn::ShiftRight<24>(hn::ShiftLeft<24>(code))), hn::Set(kF32, 1.0f / 64));
  }
  static uint8_t code(float x) {
    const float y = x * 64, clamped = y > 127 ? 127.0f : y > -127 ? y : -127.0f;
    return uint8_t(int32_t(clamped + 0x1.8p23f - 0x1.8p23f));
  }
  static VI codes(VF x) {
    const VF y = hn::Mul(x, hn::Set(kF32, 64));
    const VF high = hn::IfThenElse(hn::Gt(y, hn::Set(kF32, 127)), hn::Set(kF32, 127), y);
    const VF clamped = hn::IfThenElse(hn::Gt(high, hn::Set(kF32, -127)), high, hn::Set(kF32, -127));
    return hn::And(nearest(clamped), hn::Set(kI32, 255));
  }
};
using Groups = FloatGroup<Sixtyfourths>;

}  // namespace

extern constexpr FormatDef mxint8_format =
    Groups::format("mxint8", "multiples of 1/64 in blocks of 32 with a power of two as scale (OCP MX, 2023)", kMx);

}  // namespace dyadic::DY_ISA
