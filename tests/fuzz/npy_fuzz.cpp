// libFuzzer: whatever the bytes are, reading them as numpy's files gives arrays or a ValueError.
#include "dyadic/numpy_file.h"
#include "dyadic/tensor_file.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dyadic;
  const FuzzFile input(data, size);
  try {
    io::load_npz(input.path);
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
  try {
    const auto file = io::open(input.path);
    for (size_t i = 0; i < file->tensors().size(); ++i) file->get(i);
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
  return 0;
}
