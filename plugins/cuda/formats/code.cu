// Which scalar format a Format is. The program's objects are not known here: they are told by what they say of themselves.
#include <string_view>

#include "plugins/cuda/elements.h"

namespace dyadic::gpu {

Code code_of(const Format* format) {
  if (!format || format->is_blocked()) return Code::none;
  const FormatDef& d = *format->def;
  switch (d.kind) {
    case Kind::boolean:
      return Code::boolean;
    case Kind::complex:
      return d.bits == 64 ? Code::c64 : Code::c128;
    case Kind::sint:
      return d.bits == 8 ? Code::i8 : d.bits == 16 ? Code::i16 : d.bits == 32 ? Code::i32 : Code::i64;
    case Kind::uint:
      return d.bits == 8 ? Code::u8 : d.bits == 16 ? Code::u16 : d.bits == 32 ? Code::u32 : Code::u64;
    default:
      break;
  }
  if (d.bits == 64) return Code::f64;
  if (d.bits == 32) return Code::f32;
  if (d.bits == 16) return d.exponent_bits == 8 ? Code::bf16 : Code::f16;
  const std::string_view name = d.name;
  if (name == "f8e4m3fn") return Code::f8e4m3fn;
  if (name == "f8e5m2") return Code::f8e5m2;
  if (name == "f8e4m3fnuz") return Code::f8e4m3fnuz;
  if (name == "f8e5m2fnuz") return Code::f8e5m2fnuz;
  if (name == "f8e3m4") return Code::f8e3m4;
  return name == "f8e8m0fnu" ? Code::f8e8m0fnu : Code::none;
}

}  // namespace dyadic::gpu
