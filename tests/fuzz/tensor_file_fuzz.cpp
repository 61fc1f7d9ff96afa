// io::open on whatever it is: each kind of file by its own signature, an index among them; everything in it is asked for.
#include "dyadic/convert.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(tensor_file, "io/data") {
  const dyadic::testing::MemoryFile file(data, size);
  try {
    const auto opened = dyadic::io::open(file.path());
    (void)opened->metadata();
    for (size_t i = 0; i < opened->tensors().size(); ++i) try {
        (void)opened->same_as(i);
        const dyadic::Tensor t = opened->get(i);
        if (t.numel() < 4096) dyadic::io::statistics(t);
      } catch (const dyadic::Error&) {}
  } catch (const dyadic::Error&) {}  // the system's reasons among them: a file that an index lists is not there
}
