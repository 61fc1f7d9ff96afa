// The GGUF format: "GGUF", a version, counts of tensors and keys; the keys with their values; the tensors' names, dimensions
// (fastest first), types and offsets; from the next multiple of the alignment on, the data. What reading and writing share.
#pragma once
#include <bit>
#include <cstring>
#include <functional>
#include <type_traits>

#include "dyadic/gguf.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"

namespace dyadic::inline v1::io {

static_assert(std::endian::native == std::endian::little);  // as the files are
inline constexpr uint32_t kGgufMagic = 0x46554747, kGgufVersion = 3;
inline constexpr uint64_t kGgufAlignment = 32, kMaxGgufName = 65535;
inline constexpr char kAlignmentKey[] = "general.alignment";
inline constexpr uint32_t kNvfp4 = 40;

// A type of ggml's: so many elements of a row in so many bytes. dtype: undefined where none here holds it.
struct GgmlType {
  uint32_t number;
  const char* name;
  uint32_t elements, bytes;  // 0: ggml has given it up
  DType dtype;
};
const GgmlType* find_ggml_type(uint32_t number);  // null for unknown ones
const GgmlType* find_ggml_type(DType dtype);
// What ggml has for a weight of that dtype with so many columns: the dtype itself, one of as many bits, or a float.
DType nearest_ggml_dtype(DType dtype, int64_t columns);
std::string why_nearest_ggml(DType dtype, DType nearest);

// Where a file is read. Whatever is asked for and not there is a ValueError with the place.
class GgufCursor {
  std::string_view bytes_;
  const std::string& file_;
  uint64_t at_;
  const char* of_ = "header";
  std::string_view name_;

  const char* take(uint64_t n) {
    if (n > left()) wrong("{} bytes expected, {} are left", n, left());
    const char* p = bytes_.data() + at_;
    at_ += n;
    return p;
  }

 public:
  GgufCursor(std::string_view bytes, const std::string& file, uint64_t at = 0) : bytes_(bytes), file_(file), at_(at) {}
  void enter(const char* of, std::string_view name) { of_ = of, name_ = name; }  // what messages are about
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }
  template <class... A> [[noreturn, gnu::cold]] void wrong(fmt::format_string<A...> text, A&&... args) const {
    const std::string what = name_.data() ? fmt::format("{} {}", of_, quote_name(name_)) : of_;
    bad(file_, "{}: {} (at byte {})", what, fmt::format(text, std::forward<A>(args)...), at_);
  }
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string_view text() {
    const auto n = number<uint64_t>();
    return {take(n), size_t(n)};
  }
  std::string_view text(uint64_t most) {
    const auto n = number<uint64_t>();
    if (n > most) wrong("a name of {} bytes; the limit is {}", n, most);
    return {take(n), size_t(n)};
  }
  void skip(uint64_t n) { take(n); }
};

// Calls f(std::type_identity<T>()) for the type that holds values of `type`, which is no array.
template <class F> decltype(auto) with_gguf_type(GgufType type, F f) {
  switch (type) {
    case GgufType::u8:
      return f(std::type_identity<uint8_t>());
    case GgufType::i8:
      return f(std::type_identity<int8_t>());
    case GgufType::u16:
      return f(std::type_identity<uint16_t>());
    case GgufType::i16:
      return f(std::type_identity<int16_t>());
    case GgufType::u32:
      return f(std::type_identity<uint32_t>());
    case GgufType::i32:
      return f(std::type_identity<int32_t>());
    case GgufType::f32:
      return f(std::type_identity<float>());
    case GgufType::boolean:
      return f(std::type_identity<bool>());
    case GgufType::u64:
      return f(std::type_identity<uint64_t>());
    case GgufType::i64:
      return f(std::type_identity<int64_t>());
    case GgufType::f64:
      return f(std::type_identity<double>());
    default:
      return f(std::type_identity<std::string>());
  }
}
// A source of tensors that knows a GGUF file's keys: what is written of it has them.
class GgufSource {
 public:
  virtual ~GgufSource() = default;
  virtual GgufMetadata values() const = 0;
};

const char* gguf_type_name(GgufType type);  // "uint8", "string" ...
uint64_t gguf_least_bytes(GgufType type);   // of one value: a string's length, an array's type and count
GgufValue read_gguf_value(GgufCursor& at, const GgufKey& key);
std::string gguf_json(std::string_view bytes, const std::string& file, const std::vector<GgufKey>& keys);

struct GgufTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<int64_t> shape;      // PyTorch's order
  uint64_t offset = 0, bytes = 0;  // in the file; of types that are not known 0 bytes
};
struct GgufHeader {
  uint32_t version = 0;
  uint64_t alignment = kGgufAlignment;
  std::vector<GgufKey> keys;
  std::vector<GgufTensor> tensors;
};
// Checks everything: bounds of each value, names, types, dimensions, that tensors lie in the file, aligned, and apart.
GgufHeader parse_gguf(std::string_view bytes, const std::string& file);

// NVFP4: ggml has four scales and the codes of 64 elements side by side, and no scale of the whole tensor.
Tensor read_nvfp4(const char* blocks, IntList shape, const std::function<void(const std::string&)>& refuse);
std::string write_nvfp4(const Tensor& t, const std::function<void(const std::string&)>& refuse);

std::string gguf_part_path(const std::string& stem, int64_t part, int64_t parts);  // part counts from 0

}  // namespace dyadic::inline v1::io
