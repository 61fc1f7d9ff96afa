// libFuzzer: whatever the bytes are, reading them as GGUF gives keys and tensors or a ValueError, and so does all in them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "dyadic/ops.h"
#include "io/gguf.h"

namespace {

// A file without a name; the one that is open keeps its pages.
struct Memory {
  int fd = memfd_create("input", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  ~Memory() { close(fd); }
  void fill(const uint8_t* data, size_t size) const {
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != ssize_t(size)) std::abort();
  }
};

template <class F> void tolerate(F f) {
  try {
    f();
  } catch (const dyadic::Error&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Memory memory;
  try {
    dyadic::io::parse_gguf({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const dyadic::ValueError&) { return 0; }
  memory.fill(data, size);
  tolerate([&] {
    const auto file = dyadic::io::GgufFile::open(memory.path);
    tolerate([&] { file->metadata(); });
    for (const dyadic::io::GgufKey& k : file->keys()) {
      tolerate([&] { file->value(k.name); });
      tolerate([&] { file->strings(k.name); });
      tolerate([&] { file->numbers(k.name); });
    }
    for (size_t i = 0; i < file->tensors().size(); ++i) tolerate([&] { file->get(i).to(dyadic::f32); });
  });
  return 0;
}
