// Which instruction set's kernels run: found once per process, from the processor and DYADIC_ISA.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "base/parallel.h"

namespace dyadic::inline v1 {

namespace {

constexpr const char* kNames[] = {"sse4", "avx2", "avx512"};

Isa of_processor() {
  // The levels of the x86-64 psABI, as CMake's flags for the kernels name them, plus AES and carry-less multiplication, which
  // Highway's targets ask for.
  bool aes = __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
  if (!aes || !v2)
    fail("dyadic: the processor is too old: it lacks SSE4.2, POPCNT, AES or PCLMUL; x86-64-v2 with AES is needed");
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
            __builtin_cpu_supports("movbe");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::avx512 : v3 ? Isa::avx2 : Isa::sse4;
}

Isa choose() {
  Isa best = of_processor();
  const char* text = std::getenv("DYADIC_ISA");
  if (!text || !*text) return best;
  for (int i = 0; i < 3; i++) {
    if (std::string_view(text) != kNames[i]) continue;
    if (Isa(i) <= best) return Isa(i);
    std::fprintf(stderr, "dyadic: DYADIC_ISA=%s is ignored: this processor has %s\n", text, kNames[int(best)]);
    return best;
  }
  std::fprintf(stderr, "dyadic: DYADIC_ISA=%s is ignored: it is none of sse4, avx2, avx512\n", text);
  return best;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}
const char* isa_name() { return kNames[int(isa())]; }
bool has_avx512_bf16() {
  static const bool has = isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16");
  return has;
}
bool has_avx512_vnni() {
  static const bool has = isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni");
  return has;
}

}  // namespace dyadic::inline v1
