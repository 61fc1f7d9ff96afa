// What the symbol table of this library says of a kernel: its name, and where its __shared__ variables lie, which the language
// makes plain static ones. Nothing of a library that has been stripped.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dyadic::gpu::sim {

struct KernelSymbols {
  std::string name = "?";                    // as in the source, without its parameters
  std::vector<std::span<std::byte>> shared;  // of it and not of functions that it calls
};
const KernelSymbols& symbols_of(const void* kernel);

}  // namespace dyadic::gpu::sim
