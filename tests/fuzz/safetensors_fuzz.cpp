// Safetensors read into memory, and a sealed file mapped: tensors or a ValueError.
#include <cstring>

#include "io/safetensors.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(safetensors, "io/data/safetensors") {
  const auto read = [&](void* target, uint64_t offset, size_t n) { std::memcpy(target, data + offset, n); };
  try {
    dyadic::io::read_safetensors({"input", size, read});
  } catch (const dyadic::ValueError&) {}
  const dyadic::testing::MemoryFile file(data, size);
  try {
    dyadic::io::map_sealed(file.path());
  } catch (const dyadic::ValueError&) {}
}
