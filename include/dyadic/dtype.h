// DType: what an element of a tensor is. Every number format is one, from float64 to 4-bit blocks with scales.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1 {

struct Format;  // the interned, immortal record behind a dtype (src/formats/format.h)

// A dtype is a pointer to its interned record: equal dtypes are the same record, so == is a pointer comparison.
class DType {
  const Format* f_ = nullptr;

 public:
  constexpr DType() = default;
  constexpr explicit DType(const Format* f) : f_(f) {}
  constexpr DType(std::nullopt_t) {}  // none, where one is optional
  // Text in the grammar `name` or `name(option,...)`: "bf16", "bfloat16", "nf4(block=64,double)", "i4(group=32)", "q8_0".
  // Throws ValueError naming the nearest formats.
  static DType parse(std::string_view text);

  const std::string& name() const;       // canonical short text: "bf16", "nf4(block=64,double)"
  const std::string& long_name() const;  // PyTorch's where it has one: "bfloat16"; else name()
  bool is_floating_point() const;        // a plain float format (f64, f32, f16, bf16)
  bool is_integer() const;               // a plain integer format, bool excluded
  bool is_complex() const;               // complex64 or complex128: pairs of f32 or f64
  DType to_real() const;                 // of a complex dtype its parts'; else itself
  DType to_complex() const;              // of a float dtype the complex one that holds it, c64 or c128; else itself
  bool is_scaled() const;                // codes with scales: nf4, i4(group=32), q8_0 ...
  bool is_blocked() const;               // elements share bytes: scaled dtypes, and packed ones of fewer than 8 bits
  int64_t itemsize() const;              // bytes of one element; ValueError for blocked dtypes
  double bits() const;                   // bits of one element's code, scales not counted

  constexpr const Format* format() const { return f_; }
  constexpr explicit operator bool() const { return f_ != nullptr; }
  friend constexpr bool operator==(DType, DType) = default;
};

// What floating-point numbers become unless a dtype is asked for: float32. TypeError unless d is a plain float dtype.
DType default_dtype();
void set_default_dtype(DType d);
// Another default in this thread while it lives.
class DefaultDType {
  DType before_;

 public:
  explicit DefaultDType(DType d);
  ~DefaultDType();
  DefaultDType(const DefaultDType&) = delete;
};

// Every dtype that is registered with its default parameters, scalars first, in a fixed order.
std::vector<DType> registered_dtypes();

namespace detail {
extern Format f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, u16, u32, u64, c64, c128;
extern Format f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e3m4, f8e8m0fnu;
extern Format f6e2m3fn, f6e3m2fn, f4e2m1fn, f4e3m0, i4, i2, u4, u2, u1;
}  // namespace detail
inline constexpr DType f64{&detail::f64}, f32{&detail::f32}, f16{&detail::f16}, bf16{&detail::bf16};
inline constexpr DType i64{&detail::i64}, i32{&detail::i32}, i16{&detail::i16}, i8{&detail::i8}, u8{&detail::u8},
    boolean{&detail::boolean};
inline constexpr DType u16{&detail::u16}, u32{&detail::u32}, u64{&detail::u64}, c64{&detail::c64}, c128{&detail::c128};
inline constexpr DType f8e4m3fn{&detail::f8e4m3fn}, f8e5m2{&detail::f8e5m2}, f8e4m3fnuz{&detail::f8e4m3fnuz},
    f8e5m2fnuz{&detail::f8e5m2fnuz}, f8e3m4{&detail::f8e3m4}, f8e8m0fnu{&detail::f8e8m0fnu};
inline constexpr DType f6e2m3fn{&detail::f6e2m3fn}, f6e3m2fn{&detail::f6e3m2fn}, f4e2m1fn{&detail::f4e2m1fn},
    f4e3m0{&detail::f4e3m0}, i4{&detail::i4}, i2{&detail::i2}, u4{&detail::u4}, u2{&detail::u2}, u1{&detail::u1};
inline constexpr DType float64 = f64, float32 = f32, float16 = f16, bfloat16 = bf16;
inline constexpr DType int64 = i64, int32 = i32, int16 = i16, int8 = i8, uint8 = u8, uint16 = u16, uint32 = u32, uint64 = u64;
inline constexpr DType complex64 = c64, complex128 = c128;
inline constexpr DType float8_e4m3fn = f8e4m3fn, float8_e5m2 = f8e5m2, float8_e4m3fnuz = f8e4m3fnuz,
                       float8_e5m2fnuz = f8e5m2fnuz, float8_e3m4 = f8e3m4, float8_e8m0fnu = f8e8m0fnu;
inline constexpr DType float6_e2m3fn = f6e2m3fn, float6_e3m2fn = f6e3m2fn, float4_e2m1fn = f4e2m1fn, float4_e3m0 = f4e3m0;
inline constexpr DType int4 = i4, int2 = i2, uint4 = u4, uint2 = u2, uint1 = u1;

// Scaled formats at their usual parameters; DType::parse makes the others.
extern const DType nf4, fp4, i8_row, i4_group32, dynamic8, udynamic8;
// The block formats of GGUF files, with ggml's bytes. The iq1, iq2 and iq3 formats are only decoded: their codes come from
// files.
extern const DType q8_0, q5_1, q5_0, q4_1, q4_0, q8_K, q6_K, q5_K, q4_K, q3_K, q2_K, iq4_nl, iq4_xs, tq1_0, tq2_0, mxfp4;
extern const DType iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_m, iq1_s;
extern const DType f8e4m3fn_row, f8e5m2_row, mxfp8_e4m3, mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxint8, nvfp4, e8p;

}  // namespace dyadic::inline v1
