// Formats that keys and values can be kept in.
#include <numeric>

#include "base/check.h"
#include "dyadic/models.h"
#include "formats/format.h"
#include "tensor/row_planes.h"

namespace dyadic::inline v1::models {
namespace {

void check_format(const char* what, DType format) {
  if (!format) return;
  const Format& f = *format.format();
  const bool serves = f.is_scaled() ? f.can_encode() : f.def->kind == Kind::floating && !f.is_blocked();
  DY_CHECK_AS(ValueError, serves, "KV cache: {} cannot be kept in {}: {}; take i8(group=32), q8_0, q4_0, f8e4m3fn or another",
              what, format.name(),
              f.is_scaled() ? "its codes come from files" : "it has no scales, and is no float of 8 bits or more");
}

}  // namespace

KvFormats KvFormats::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const DType keys = DType::parse(text.substr(0, colon));
  return {.keys = keys, .values = colon == text.npos ? keys : DType::parse(text.substr(colon + 1))};
}

void KvFormats::check() const { check_format("keys", keys), check_format("values", values); }
bool KvFormats::rotates() const { return rotate_keys.value_or(keys && keys.is_scaled()); }

void KvFormats::check_width(const char* what, DType format, int64_t width) {
  if (!format || rows_stand_alone(format, width)) return;
  const int64_t block = format.format()->params.block, common = std::gcd(std::max<int64_t>(block, 32), width);
  fail<ValueError>("KV cache: {} of {} numbers a head do not fit {}{}; take {} or i8(row)", what, width, format.name(),
                   block > 0 ? fmt::format(", which keeps {} together", block) : ", whose scales cover several tokens",
                   common >= 8 ? fmt::format("i8(group={0}), i4(group={0})", common) : "f8e4m3fn");
}

}  // namespace dyadic::inline v1::models
