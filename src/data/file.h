// Files as bytes: read whole, unpacked where gzip packed them, or mapped.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "dyadic/tensor.h"

struct gzFile_s;

namespace dyadic::inline v1::data {

// Plain or gzip, told apart by the first bytes. `who` begins the messages.
class InputFile {
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  std::string who_, path_;
  void check() const;  // whether reading went well

 public:
  InputFile(std::string_view who, const std::string& path);
  size_t read(void* out, size_t n);   // fewer only at the end
  bool read_line(std::string& line);  // without its end; false after the last
  std::string rest();
  [[noreturn]] void damaged(std::string_view why) const;  // ValueError "who: path: why"
};

}  // namespace dyadic::inline v1::data
