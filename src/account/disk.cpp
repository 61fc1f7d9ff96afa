#include "account/disk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/clock.h"
#include "base/unnamed_file.h"

namespace dyadic::inline v1::account {

int64_t available_memory() {
  int64_t kib = 0;
  if (FILE* f = std::fopen("/proc/meminfo", "re")) {
    char line[256];
    while (std::fgets(line, sizeof line, f))
      if (std::sscanf(line, "MemAvailable: %ld kB", &kib) == 1) break;
    std::fclose(f);
  }
  return kib * 1024;
}

static std::string nearest_folder(std::filesystem::path folder) {
  folder = std::filesystem::absolute(folder);
  std::error_code error;
  while (!std::filesystem::is_directory(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.native();
}

double disk_rate(const std::string& folder, int64_t bytes) {
  constexpr int64_t kTried = int64_t(16) << 20;
  const bool cached = bytes < available_memory();
  UnnamedFile file(nearest_folder(folder));
  const std::vector<char> zeros(
      size_t(1) << 20);  // written, as a full disk ends a process that touches a page it has no place for
  for (int64_t i = 0; i < kTried; i += int64_t(zeros.size())) file.write(i, zeros.data(), int64_t(zeros.size()), "a trial");
  auto* const at = static_cast<volatile char*>(file.map(0, kTried, true, "a trial"));
  void* const memory = const_cast<char*>(at);
  const auto pass = [&] {  // each page is there anew, read and written, as a step has them
    const double begin = seconds_now();
    for (int64_t i = 0; i < kTried; i += 64) at[i] = char(at[i] + 1);
    if (!cached) file.forget();
    madvise(memory, size_t(kTried), MADV_DONTNEED);
    return seconds_now() - begin;
  };
  const double seconds = std::min(pass(), pass());
  munmap(memory, size_t(kTried));
  return 2 * double(kTried) / seconds;
}

}  // namespace dyadic::inline v1::account
