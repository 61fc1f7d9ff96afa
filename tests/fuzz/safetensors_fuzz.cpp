// libFuzzer: whatever the bytes are, reading them as safetensors gives tensors or a ValueError.
#include <cstring>

#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto read = [&](void* target, uint64_t offset, size_t n) { std::memcpy(target, data + offset, n); };
  for (auto seal : {dyadic::io::Seal::none, dyadic::io::Seal::sha256}) try {
      dyadic::io::read_safetensors({"input", size, read}, seal);
    } catch (const dyadic::ValueError&) {}
  return 0;
}
