// The bytes of a fuzzer as a file in memory.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

struct FuzzFile {
  int fd;
  std::string path;
  FuzzFile(const uint8_t* data, size_t size)
      : fd(memfd_create("fuzz", MFD_CLOEXEC)), path("/proc/self/fd/" + std::to_string(fd)) {
    if (fd < 0 || write(fd, data, size) != ssize_t(size)) __builtin_trap();
  }
  ~FuzzFile() { close(fd); }
  FuzzFile(const FuzzFile&) = delete;
};
