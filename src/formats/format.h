// What a number format answers. One file per format under scalar/ and block/; each is compiled once per instruction set and
// yields a FormatDef; a Format is the interned dtype: a FormatDef with its parameters. Knows no tensor: pointers and counts
// only.
//
// Note [Storage order]: a scaled tensor's elements are numbered in the row-major order of the shape it was encoded in, `rows`
// rows of `cols` (the last dimension; a 0-d tensor is one row of one). Codes, scales and other learned data are *planes*, one
// after the other in a single buffer. Views (transposes, slices) live above: they index storage order.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dyadic/dtype.h"

namespace dyadic::inline v1 {

enum class Kind : uint8_t { boolean, uint, sint, floating, complex, scaled };
// The type an element decodes to and ops compute in; complex numbers are pairs of f32 or f64.
enum class Compute : uint8_t { f32, f64, i32, i64, u64, c64, c128 };
inline constexpr int kComputes = 7;
// What one scale covers; group: elements of a row; tile: of several rows; flat: blocks over storage order.
enum class Granularity : uint8_t { none, tensor, row, group, tile, flat };
enum class Rounding : uint8_t { nearest, stochastic };  // nearest: ties to even

// What becomes of magnitudes that round beyond the largest finite value. standard: what the dtype's origin does (PyTorch where
// it has the dtype, else ml_dtypes); saturate: the largest value, for infinities too; special: infinity, or NaN where there is
// none (the largest value where there is neither). Integers: saturate clamps, NaN becomes 0; the others wrap.
enum class Overflow : uint8_t { standard, saturate, special };

// How an encode rounds. Stochastic rounding draws its random bits from Philox keyed by (seed, stream) at the element's index in
// storage order plus `index`, so that the result does not depend on how the work is cut.
struct Round {
  Rounding mode = Rounding::nearest;
  uint64_t seed = 0, stream = 0, index = 0;
  Overflow overflow = Overflow::standard;
};

inline constexpr int kMostCodebooks = 4, kMostWordBits = 8;

struct Params {  // of a scaled format; zero-initialized for scalars
  Granularity granularity = Granularity::none;
  int32_t block = 0;              // elements per scale for group and flat, columns of a tile
  int32_t rows = 1;               // of a tile
  bool doubled = false;           // scales are themselves quantized (bitsandbytes' double quantization)
  bool zero = false;              // has zero points
  uint8_t codebooks = 0;          // of vectors that are sums of words, one of each codebook
  uint8_t word_bits = 0;          // that number a word of a codebook
  const Format* scale = nullptr;  // dtype of the scales
  friend bool operator==(const Params&, const Params&) = default;
};

struct Geometry {  // Note [Storage order]
  int64_t rows = 1, cols = 1;
  int64_t numel() const { return rows * cols; }
};

struct Plane {
  const char* name = "";          // "codes", "scales", ...
  const Format* dtype = nullptr;  // element type of the plane, as saved to files
  int64_t offset = 0, bytes = 0;  // in the storage buffer; offsets are multiples of 16
};
struct PlaneList {
  std::array<Plane, 6> plane;
  int count = 0;
  int64_t buffer_bytes = 0;  // with alignment between planes: what to allocate
  int64_t bytes = 0;         // without: what the tensor's nbytes says
};

// What the parentheses of a scaled format's text may hold (FormatDef::options): `block=N` of a flat format, the granularities,
// the flags.
enum Option : uint32_t {
  kBlock = 1,
  kGroup = 2,
  kRow = 4,
  kTensor = 8,
  kDoubled = 16,
  kZero = 32,
  kScale = 64,
  kTiled = 128,
  kCodebooks = 256,
  kBits = 512,
};

// A file's answers. Scalar formats fill decode/encode, scaled ones decode_range/encode_all and planes.
struct FormatDef {
  const char* name;            // short: "bf16"
  const char* long_name = "";  // "bfloat16"; empty: the same as name
  const char* doc = "";        // one line: where it comes from
  Kind kind;
  Compute compute;
  int bits;  // of one code
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  double max = 0, min_normal = 0, min_subnormal = 0, eps = 0;
  bool has_inf = false, has_nan = false;
  Params defaults{};         // scaled formats
  uint32_t options = 0;      // the Options its text accepts
  int32_t block_step = 1;    // N of block= and group= is a multiple of it: codes that share a byte share a scale
  int32_t block_bytes = 0;   // of formats whose rows are whole blocks of defaults.block elements: ggml's, e8p
  int32_t vector = 1;        // elements of a row that have their code together
  const char* instead = "";  // a format that can be encoded, where encode_all is null: codes come from files

  // Scalar formats: n elements between storage (packed ones: a byte each) and the compute type. Any alignment of
  // `stored` that the element's size asks for; no overrun. NaN, infinities, subnormals, signed zeros exact.
  void (*decode)(const void* stored, void* computed, int64_t n) = nullptr;
  void (*encode)(const void* computed, void* stored, int64_t n, const Round&) = nullptr;

  // Scaled formats (compute is f32).
  PlaneList (*planes)(const Format&, Geometry) = nullptr;
  void (*decode_range)(const Format&, const void* storage, Geometry, int64_t begin, int64_t end,
                       float* out) = nullptr;                                                           // any range
  void (*encode_all)(const Format&, const float* in, void* storage, Geometry, const Round&) = nullptr;  // threads inside

  // The same, one element, plain C++ without std or SIMD: the oracle of the tests and the text GPU code will use.
  double (*decode1)(const Format&, uint64_t code) = nullptr;   // the value of a code (before scaling, for scaled formats)
  uint64_t (*encode1)(const Format&, double value) = nullptr;  // nearest code
};

struct Format {
  const FormatDef* def;  // of the running instruction set
  Params params{};
  std::string text{}, long_text{};  // canonical names
  bool is_scaled() const { return def->kind == Kind::scaled; }
  // Elements have no address of their own: scaled formats, and scalars of fewer than 8 bits, which are packed (packed.h).
  bool is_blocked() const { return is_scaled() || def->bits < 8; }
  bool can_encode() const { return !is_scaled() || def->encode_all; }
  int64_t row_step() const { return def->block_bytes ? params.block : def->vector; }  // the last dimension is a multiple of it
  // Of the codes of so many elements of a row.
  int64_t code_bits(int64_t elements) const {
    return params.codebooks ? elements / def->vector * params.codebooks * params.word_bits : elements * def->bits;
  }
  int64_t itemsize() const { return (def->bits + 7) / 8; }  // scalars only
  Compute compute() const { return def->compute; }
};

// Interns a scaled format's record; thread-safe, never freed.
const Format* intern(const FormatDef& def, const Params& params);

// Encodes a scaled tensor's elements into its storage. ValueError for a format that is only decoded, which check_encodes()
// gives before anything is allocated.
void encode_scaled(const Format&, const float* in, void* storage, Geometry, const Round& round = {});
void check_encodes(const Format&);

// n elements, storage to storage, straight from source to target: one rounding. Scalar formats only, packed ones a byte each.
// Between floats: nearest even (or as `round` says), overflow to infinity; float to integer truncates; integers wrap; to bool:
// not zero; complex to real: the real part. f64 and wide integers reach f16 and bf16 through f32 rounded *to odd*, so nothing
// is rounded twice. Single-threaded; source and target must not overlap.
void convert(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round = {});
// The same between compute types (one tile of a kernel). `to_odd`: what is wider than f32 rounds to it to odd.
void convert_compute(Compute from, const void* source, Compute to, void* target, int64_t n, bool to_odd = false);

constexpr bool is_complex(Compute c) { return c == Compute::c64 || c == Compute::c128; }
constexpr Compute real_of(Compute c) { return c == Compute::c64 ? Compute::f32 : c == Compute::c128 ? Compute::f64 : c; }
constexpr int64_t compute_size(Compute c) { return c == Compute::c128 ? 16 : c == Compute::f32 || c == Compute::i32 ? 4 : 8; }
const Format& compute_format(Compute c);  // as a dtype

}  // namespace dyadic::inline v1
