// The best instruction set that a processor has kernels for. cmake/native_isa.cpp asks it when a build is configured.
#pragma once

namespace dyadic::inline v1 {

// The levels of the x86-64 psABI, as CMake's flags for the kernels name them, plus AES and carry-less multiplication, which
// Highway's targets ask for. nullptr: too old for any.
inline const char* isa_of_processor() {
  const bool aes = __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                  __builtin_cpu_supports("movbe");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return !aes || !v2 ? nullptr : v4 ? "avx512" : v3 ? "avx2" : "sse4";
}

}  // namespace dyadic::inline v1
