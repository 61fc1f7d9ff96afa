// numpy's files: arrays or a ValueError.
#include "dyadic/numpy_file.h"
#include "dyadic/tensor_file.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(npy, "io/data") {
  using namespace dyadic;
  const dyadic::testing::MemoryFile input(data, size);
  try {
    io::load_npz(input.path());
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
  try {
    const auto file = io::open(input.path());
    for (size_t i = 0; i < file->tensors().size(); ++i) file->get(i);
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
}
