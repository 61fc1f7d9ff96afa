#include "loops/layout.h"

#include <cstring>

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
template <class T> T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <class T> void write(char* to, T value) { std::memcpy(to, &value, sizeof(T)); }

bool is_word(int64_t bytes) { return bytes <= 16 && (bytes & (bytes - 1)) == 0; }

}  // namespace

void Layout::plan(const Space& s, const Cut& cut, int operand) {
  constexpr int64_t kRun = 32;  // bytes from which a copy of a run is faster than one of its elements each
  const Operand& o = s.op[operand];
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

void Layout::gather(char* to, const char* from, int64_t n) const {
  if (kind_ == Kind::strided)
    return of_width(width_, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < n; ++i) write(to + i * sizeof(T), read<T>(from + i * stride_));
    });
  const int64_t each = kind_ == Kind::single ? n : each_, parts = n / each;
  if (kind_ == Kind::repeats || kind_ == Kind::single)
    return of_width(width_, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < parts; ++i) {
        const T value = read<T>(from + at_[i]);
        for (int64_t k = 0; k < each; ++k, to += sizeof(T)) write(to, value);
      }
    });
  if (!is_word(bytes_)) {
    for (int64_t i = 0; i < parts; ++i) std::memcpy(to + i * bytes_, from + at_[i], size_t(bytes_));
    return;
  }
  of_width(bytes_, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < parts; ++i) write(to + i * sizeof(T), read<T>(from + at_[i]));
  });
}

void Layout::scatter(char* to, const char* from, int64_t n) const {
  if (kind_ == Kind::strided)
    return of_width(width_, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < n; ++i) write(to + i * stride_, read<T>(from + i * sizeof(T)));
    });
  const int64_t each = kind_ == Kind::single ? n : each_, parts = n / each;
  if (kind_ == Kind::repeats || kind_ == Kind::single) {  // one value for many places that are one
    for (int64_t i = 0; i < parts; ++i) std::memcpy(to + at_[i], from + i * each * width_, size_t(width_));
    return;
  }
  if (!is_word(bytes_)) {
    for (int64_t i = 0; i < parts; ++i) std::memcpy(to + at_[i], from + i * bytes_, size_t(bytes_));
    return;
  }
  of_width(bytes_, [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < parts; ++i) write(to + at_[i], read<T>(from + i * sizeof(T)));
  });
}

}  // namespace dyadic::inline v1::tiles
