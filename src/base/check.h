// How errors are raised: fail<ValueError>("op: rule: {}", x), DY_CHECK for the user's mistakes, DY_ASSERT for ours.
#pragma once
#include <fmt/format.h>

#include "dyadic/error.h"

namespace dyadic::inline v1 {

template <class E = Error, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw E(fmt::format(text, std::forward<A>(args)...));
}
[[noreturn, gnu::cold]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace dyadic::inline v1

#define DY_CHECK(condition, ...)   \
  do {                             \
    if (!(condition)) [[unlikely]] \
      ::dyadic::fail(__VA_ARGS__); \
  } while (0)
#define DY_CHECK_AS(type, condition, ...) \
  do {                                    \
    if (!(condition)) [[unlikely]]        \
      ::dyadic::fail<type>(__VA_ARGS__);  \
  } while (0)
#if DYADIC_ASSERTIONS
#define DY_ASSERT(condition)                                      \
  do {                                                            \
    if (!(condition)) [[unlikely]]                                \
      ::dyadic::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (0)
#else
#define DY_ASSERT(condition) \
  do {                       \
  } while (0)
#endif
