// A file without a name: gone with whoever holds it, however the process ends.
#pragma once
#include <cstdint>
#include <string>

namespace dyadic::inline v1 {

class UnnamedFile {
  std::string folder_;
  int file_ = -1;

 public:
  // The folder is made if need be. Errors, here and below, are "<folder>: ..." with the system's reason.
  explicit UnnamedFile(std::string folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;

  void write(int64_t at, const void* data, int64_t bytes, const char* of);  // of: "weights", for the error
  void read(int64_t at, void* to, int64_t bytes, const char* of) const;
  void read_ahead(int64_t at, int64_t bytes) const;  // the system begins to read what it does not have; returns at once
  void forget() const;                               // what was written is on the disk then, and read from there
  void free(int64_t at, int64_t bytes) const;        // nobody wants these bytes any more: the disk may have them back
  void extend(int64_t bytes, const char* of);        // to so many; what was not written reads as zeros
  void* map(int64_t at, int64_t bytes, bool writable, const char* of) const;
};

}  // namespace dyadic::inline v1
