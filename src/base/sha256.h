// SHA-256 of a stream of bytes (FIPS 180-4), by libmd.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace dyadic::inline v1 {

class Sha256 {
  struct State;
  std::unique_ptr<State> state_;

 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::string hex() const;  // 64 digits, of everything so far; more may follow
};

std::string sha256_hex(std::string_view text);
std::string sha256_file(const std::string& path);  // ValueError when it can't be read

}  // namespace dyadic::inline v1
