// Safetensors read into memory and mapped: tensors or a ValueError.
#include <cstring>

#include "io/safetensors.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(safetensors, "io/data/safetensors") {
  const auto read = [&](void* target, uint64_t offset, size_t n) { std::memcpy(target, data + offset, n); };
  for (auto seal : {dyadic::io::Seal::none, dyadic::io::Seal::sha256}) try {
      dyadic::io::read_safetensors({"input", size, read}, seal);
    } catch (const dyadic::ValueError&) {}
}
