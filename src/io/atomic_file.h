// A file that appears under its name whole or not at all: written beside it, synced, renamed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dyadic::inline v1::io {

class AtomicFile {
  std::string who_, path_, temporary_;
  int fd_ = -1;
  uint64_t at_ = 0, unsent_ = 0;  // where write() goes on; bytes that the disk was not yet given

 public:
  // Errors begin with `who` and name the path. The target of a symbolic link is replaced, not the link; whatever is no regular
  // file is refused.
  AtomicFile(std::string who, std::string path);
  ~AtomicFile();  // without commit: nothing has happened
  AtomicFile(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  void write_at(uint64_t offset, const void* data, size_t bytes);
  void commit();

 private:
  void open_temporary();
  [[noreturn]] void fail_with(int error) const;
};

// A whole file at once.
void write_whole(const std::string& who, const std::string& path, std::string_view content);

// What a killed process left of an AtomicFile at `path`; nothing happens while another one writes it.
void remove_leftover(const std::string& path);

}  // namespace dyadic::inline v1::io
