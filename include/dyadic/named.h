// Shapes in the words of einops, checked where they are written:
//
//   Tensor attend(Named<"batch seq hidden"> q, Named<"batch seq hidden"> k) {
//     NamedScope names(q, k);                          // what they both name has one size
//     const int64_t t = q.size<"seq">();
//     expect(q, "batch seq (heads dim)", {{"heads", 8}});
//     names.expect(mask, "batch seq");                 // the sizes of q and k
//
// In debug builds, and in any with DYADIC_CHECK_SHAPES defined, a tensor that does not fit is an Error that shows the pattern
// and the shape, and of the names in a scope the shape they come from. Otherwise none of it costs anything.
#pragma once
#include <algorithm>
#include <string_view>

#include "dyadic/einops.h"

#if !defined(DYADIC_CHECK_SHAPES) && !defined(NDEBUG)
#define DYADIC_CHECK_SHAPES 1
#endif

#ifdef DYADIC_CHECK_SHAPES
#define DY_SHAPES shapes_checked
#else
#define DY_SHAPES shapes_unchecked
#endif

namespace dyadic::inline v1 {

// Whatever the build: the sizes by name, those of compositions too; Error where x does not fit. A number stands for that size,
// "_" for any, "..." for any number of dimensions.
std::map<std::string, int64_t> check_shape(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});

// The sizes that names have in the tensors so far, whatever the build.
class NamedSizes {
  struct Bound {
    int64_t size;
    std::string where;  // f32[2, 3] "batch seq"
  };
  std::map<std::string, Bound, std::less<>> bound_{};

 public:
  void bind(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});  // Error where x has others
};

// Files of one program may be compiled with and without checks.
inline namespace DY_SHAPES {

inline const Tensor& expect(const Tensor& x, [[maybe_unused]] std::string_view pattern, [[maybe_unused]] AxisSizes sizes = {}) {
#ifdef DYADIC_CHECK_SHAPES
  check_shape(x, pattern, sizes);
#endif
  return x;
}

template <size_t N> struct FixedText {
  char text[N]{};
  constexpr FixedText(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// Which word of `pattern` is `name`, or -1. Characters one by one: under its sanitizers g++ 12 takes no string_view of a
// template argument for a constant.
template <size_t N, size_t M> constexpr int64_t place_of(FixedText<M> name, FixedText<N> pattern) {
  int64_t place = 0;
  for (size_t i = 0; i + 1 < N;) {
    size_t n = 0;
    while (i + n + 1 < N && pattern.text[i + n] != ' ') ++n;
    bool same = n + 1 == M;
    for (size_t k = 0; same && k < n; ++k) same = pattern.text[i + k] == name.text[k];
    if (same) return place;
    place += n > 0;
    i += n + 1;
  }
  return -1;
}

// A Tensor whose dimensions have names, one word each.
template <FixedText Pattern> class Named : public Tensor {
 public:
  Named(Tensor t) : Tensor(std::move(t)) { expect(*this, Pattern.view()); }
  using Tensor::size;
  template <FixedText Name> int64_t size() const { return Tensor::size(dim_of<Name>()); }
  template <FixedText Name> static constexpr int64_t dim_of() {
    constexpr int64_t place = place_of(Name, Pattern);
    static_assert(place >= 0, "the pattern has no dimension of this name");
    return place;
  }
};

class NamedScope {
#ifdef DYADIC_CHECK_SHAPES
  NamedSizes sizes_{};
#endif

 public:
  template <FixedText... Patterns> explicit NamedScope(const Named<Patterns>&... tensors) {
    (expect(tensors, Patterns.view()), ...);
  }
  const Tensor& expect(const Tensor& x, [[maybe_unused]] std::string_view pattern, [[maybe_unused]] AxisSizes sizes = {}) {
#ifdef DYADIC_CHECK_SHAPES
    sizes_.bind(x, pattern, sizes);
#endif
    return x;
  }
};

}  // namespace DY_SHAPES
#undef DY_SHAPES

}  // namespace dyadic::inline v1
