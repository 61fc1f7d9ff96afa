#include "loops/layout.h"

#include <cstring>

#include "loops/strided_copy_kernel.h"

namespace dyadic::inline v1::tiles {
namespace {

struct Sixteen {
  char bytes[16];
};

// f(T{}) for the type of that width.
template <class F> void of_width(int64_t width, F&& f) {
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      DY_ASSERT(width == 16);
      return f(Sixteen{});
  }
}
// One value: into the row, or out of it to where it lies.
template <bool kIn, class T> void pass(char* row, char* lying) {
  T value;
  std::memcpy(&value, kIn ? lying : row, sizeof(T));
  std::memcpy(kIn ? row : lying, &value, sizeof(T));
}

bool is_word(int64_t bytes) { return bytes <= 16 && (bytes & (bytes - 1)) == 0; }

}  // namespace

void Layout::plan(const Space& s, const Cut& cut, int operand) {
  constexpr int64_t kRun = 32;  // bytes from which a copy of a run is faster than one of its elements each
  const Place& o = s.op[operand];
  const int last = s.ndim - 1;
  width_ = o.size;
  stride_ = o.stride[last];
  bool dense = true, none = true;
  int64_t next = o.size;
  for (int d = last; d >= cut.lead; --d) {
    dense = dense && o.stride[d] == next;
    none = none && o.stride[d] == 0;
    next *= s.size[d];
  }
  kind_ = dense ? Kind::flat : none ? Kind::single : cut.lead == last ? Kind::strided : Kind::parts;
  at_[0] = 0;
  if (kind_ != Kind::parts) return;
  const int64_t inner = s.size[last], run = inner * width_;
  bytes_ = width_, each_ = 1;
  int from = last;
  if (stride_ == width_ && (is_word(run) || run >= kRun)) bytes_ = run, each_ = inner, from = last - 1;
  if (stride_ == 0) kind_ = Kind::repeats, each_ = inner, from = last - 1;
  int64_t count = 1;
  for (int d = from; d >= cut.lead; --d) {
    const int64_t size = d == cut.lead ? cut.rows : s.size[d];
    for (int64_t i = 1; i < size; ++i)
      for (int64_t k = 0; k < count; ++k) at_[i * count + k] = at_[k] + i * o.stride[d];
    count *= size;
  }
}

template <bool kIn> void Layout::carry(char* row, char* lying, int64_t n) const {
  if (kind_ == Kind::strided)
    return kIn ? strided_copy_kernel().spaced(row, width_, lying, stride_, n, width_)
               : strided_copy_kernel().spaced(lying, stride_, row, width_, n, width_);
  const bool repeats = kind_ == Kind::repeats || kind_ == Kind::single;
  const int64_t each = kind_ == Kind::single ? n : each_, parts = n / each;
  if (repeats && kIn)
    return of_width(width_, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < parts; ++i)
        for (int64_t k = 0; k < each; ++k, row += sizeof(T)) pass<true, T>(row, lying + at_[i]);
    });
  const int64_t apart = repeats ? each * width_ : bytes_;  // out of the row: one value for many places that are one
  const int64_t bytes = repeats ? width_ : bytes_;
  if (!is_word(bytes)) {
    for (int64_t i = 0; i < parts; ++i)
      std::memcpy(kIn ? row + i * apart : lying + at_[i], kIn ? lying + at_[i] : row + i * apart, size_t(bytes));
    return;
  }
  of_width(bytes, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < parts; ++i) pass<kIn, T>(row + i * apart, lying + at_[i]);
  });
}
void Layout::gather(char* to, const char* from, int64_t n) const { carry<true>(to, const_cast<char*>(from), n); }
void Layout::scatter(char* to, const char* from, int64_t n) const { carry<false>(const_cast<char*>(from), to, n); }

}  // namespace dyadic::inline v1::tiles
