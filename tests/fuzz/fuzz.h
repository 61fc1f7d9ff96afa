// A fuzz entry is a file of its own, <name>_fuzz.cpp:
//   DY_FUZZ(safetensors, "io/data/safetensors") { ...data, size... }
// libFuzzer calls it with bytes of its own making, beginning with the files below tests/<folder>; the ordinary tests replay
// those files through the same entry. Whatever the bytes are, it comes to an end without a crash, and throws nothing.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace dyadic::testing {

struct FuzzEntry {
  const char *name, *seeds;
  void (*run)(const uint8_t* data, size_t size);
  FuzzEntry* next;
};
FuzzEntry*& fuzz_entries();

// The bytes as a file with a path.
class MemoryFile {
  int fd_ = memfd_create("fuzz", MFD_CLOEXEC);

 public:
  MemoryFile(const uint8_t* data, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t n = write(fd_, data + done, size - done);
      if (n <= 0) break;
      done += size_t(n);
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
};

}  // namespace dyadic::testing

#define DY_FUZZ_RUN(name) static void fuzz_##name([[maybe_unused]] const uint8_t* data, [[maybe_unused]] size_t size)
#ifdef DYADIC_FUZZER
#define DY_FUZZ(name, seeds)                                                \
  DY_FUZZ_RUN(name);                                                        \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    fuzz_##name(data, size);                                                \
    return 0;                                                               \
  }                                                                         \
  DY_FUZZ_RUN(name)
#else
#define DY_FUZZ(name, seeds)                                                                                                   \
  DY_FUZZ_RUN(name);                                                                                                           \
  static ::dyadic::testing::FuzzEntry fuzz_entry_##name{#name, seeds, fuzz_##name,                                             \
                                                        std::exchange(::dyadic::testing::fuzz_entries(), &fuzz_entry_##name)}; \
  DY_FUZZ_RUN(name)
#endif
