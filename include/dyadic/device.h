// Devices and the ledger: every byte a tensor holds is counted, by device and by what it is for.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1 {

// meta: shapes and the ledger only, no memory, no arithmetic
enum class DeviceType : uint8_t { cpu, meta, cuda };

class Device {
  DeviceType type_;
  int8_t index_ = 0;
  static int8_t present(int64_t index);  // an Error where there is no such cuda device

 public:
  // index: of a cuda device; -1 is the current one (cuda::current_device()). There is one cpu and one meta.
  constexpr Device(DeviceType type = DeviceType::cpu, int64_t index = -1) : type_(type) {
    if (type == DeviceType::cuda) index_ = present(index);
  }
  Device(const char* text) : Device(parse(text)) {}
  Device(const std::string& text) : Device(parse(text)) {}
  static Device parse(std::string_view text);  // "cpu", "meta", "cuda" or "cuda:1"; an Error otherwise
  constexpr DeviceType type() const { return type_; }
  const char* name() const;  // "cpu", "meta", "cuda:0"
  std::string str() const { return name(); }
  constexpr int64_t index() const { return has_index() ? index_ : -1; }
  constexpr bool has_index() const { return is_cuda(); }
  constexpr bool is_meta() const { return type_ == DeviceType::meta; }
  constexpr bool is_cpu() const { return type_ == DeviceType::cpu; }
  constexpr bool is_cuda() const { return type_ == DeviceType::cuda; }
  friend constexpr bool operator==(Device, Device) = default;
};
inline constexpr Device cpu{DeviceType::cpu}, meta{DeviceType::meta};

// What bytes are for. A temporary that is saved for backward counts as an activation until the last save dies.
enum class Category : uint8_t { temporary, parameter, gradient, optimizer, activation, workspace, data };
inline constexpr int kCategories = 7;
const char* category_name(Category c);

struct MemoryStats {                                // bytes, as the allocator rounds them
  std::array<int64_t, kCategories> live{}, peak{};  // the peak of each category on its own
  int64_t total = 0, total_peak = 0;                // of the sum
  int64_t allocations = 0;                          // since the process began
};
MemoryStats memory_stats(Device d = cpu);
void reset_peak_memory_stats(Device d = cpu);  // peaks become what is live now
int64_t memory_allocated(Device d = cpu);
int64_t max_memory_allocated(Device d = cpu);
std::string memory_summary(Device d = cpu);  // a table: category, live, peak; the largest holders by module
void empty_cache();                          // gives cached pages back to the system
// An allocation that would take the total beyond `bytes` raises OutOfMemoryError; 0 lifts the limit.
void set_memory_limit(int64_t bytes, Device d = cpu);

// New storages of this thread get the category while the scope lives.
class CategoryScope {
  Category before_;

 public:
  explicit CategoryScope(Category c);
  ~CategoryScope();
  CategoryScope(const CategoryScope&) = delete;
};

}  // namespace dyadic::inline v1
