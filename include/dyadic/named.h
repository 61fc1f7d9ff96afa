// Shapes in the words of einops, checked where they are written:
//
//   Tensor attend(Named<"batch seq hidden"> x) {
//     const int64_t t = x.size<"seq">();
//     expect(x, "batch seq (heads dim)", {{"heads", 8}});
//
// In debug builds, and in any with DYADIC_CHECK_SHAPES defined, a tensor that does not fit is an Error that shows the pattern
// and the shape. Otherwise neither costs anything.
#pragma once
#include <algorithm>
#include <string_view>

#include "dyadic/einops.h"

#if !defined(DYADIC_CHECK_SHAPES) && !defined(NDEBUG)
#define DYADIC_CHECK_SHAPES 1
#endif

namespace dyadic::inline v1 {

// Whatever the build: the sizes by name, those of compositions too; Error where x does not fit. A number stands for that size,
// "_" for any, "..." for any number of dimensions.
std::map<std::string, int64_t> check_shape(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});

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

// A Tensor whose dimensions have names, one word each.
template <FixedText Pattern> class Named : public Tensor {
  static constexpr int64_t find(std::string_view name) {
    std::string_view rest = Pattern.view();
    for (int64_t d = 0;; ++d) {
      while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      const size_t n = std::min(rest.find(' '), rest.size());
      if (n == 0) return -1;
      if (rest.substr(0, n) == name) return d;
      rest.remove_prefix(n);
    }
  }

 public:
  Named(Tensor t) : Tensor(std::move(t)) { expect(*this, Pattern.view()); }
  using Tensor::size;
  template <FixedText Name> int64_t size() const {
    static_assert(find(Name.view()) >= 0, "the pattern has no dimension of this name");
    return Tensor::size(find(Name.view()));
  }
  template <FixedText Name> static constexpr int64_t dim_of() {
    static_assert(find(Name.view()) >= 0, "the pattern has no dimension of this name");
    return find(Name.view());
  }
};

}  // namespace dyadic::inline v1
