// Files of torch.save: values and tensors, or a ValueError. What is
// neither of its forms is read as the pickle in a zip: a fuzzer does not find checksums and offsets by itself.
#include "dyadic/tensor_file.h"
#include "dyadic/torch_file.h"
#include "io/torch_reader.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace dyadic;

void read(const std::string& path) {
  try {
    io::read_torch(path, {"*"});
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
  try {
    const auto file = io::open(path);
    for (size_t i = 0; i < file->tensors().size(); ++i) file->get(i);
    file->metadata();
  } catch (const ValueError&) {
  } catch (const OutOfMemoryError&) {}
}

}  // namespace

DY_FUZZ(torch, "io/data") {
  const dyadic::testing::MemoryFile file(data, size);
  const auto mapped = io::MappedFile::open(file.path());
  if (io::ZipFile::begins(mapped->bytes()) || io::TorchReader::is_older(*mapped)) return read(file.path());
  const io::Pickle::Host host;
  try {
    io::Pickle("input", mapped->bytes(), host).run();
  } catch (const ValueError&) {}
}
