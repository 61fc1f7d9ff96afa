// Memory of a device behind one small interface, and the ledger that every allocation passes. Tensors' storages come from here,
// and so do their handles (which are not counted: they are not tensor bytes).
#pragma once
#include <cstddef>
#include <cstdint>

#include "dyadic/device.h"

namespace dyadic::inline v1 {

int64_t rounded_bytes(int64_t bytes);              // what a request really takes, the same on every device: meta predicts all
void* device_allocate(Device d, int64_t rounded);  // 64-byte aligned; OutOfMemoryError; null on meta
void device_release(Device d, void* p, int64_t rounded) noexcept;

extern constinit thread_local Category t_category;  // of new storages
extern constinit thread_local uint32_t t_module;    // interned path of the module that runs
extern constinit thread_local uint32_t t_left;      // the innermost one that an exception left since this was last 0
void leave_module(uint32_t for_one_before) noexcept;

// The ledger's side of an allocation: limit check, then counters. `bytes` are rounded.
void ledger_add(Device d, Category c, uint32_t module, int64_t bytes);
void ledger_remove(Device d, Category c, uint32_t module, int64_t bytes);
void ledger_move(Device d, Category from, Category to, int64_t bytes);

// Memory that is not ours to allocate (pages of a file that are read), counted while it lives.
class LedgerCharge {
  Device device_;
  Category category_;
  int64_t bytes_;

 public:
  LedgerCharge(Device d, Category c, int64_t bytes) : device_(d), category_(c), bytes_(bytes) {
    if (bytes_) ledger_add(device_, category_, 0, bytes_);
  }
  ~LedgerCharge() {
    if (bytes_) ledger_remove(device_, category_, 0, bytes_);
  }
  LedgerCharge(const LedgerCharge&) = delete;
};

uint32_t intern_module(std::string_view path);  // small dense ids; 0 is ""
const char* module_path(uint32_t id);

// Small objects (handles, tape nodes) and small storages: size classes on thread-local free lists.
void* pool_allocate(size_t bytes);
void pool_release(void* p, size_t bytes);
void pool_trim();  // what this thread and ended ones have free goes back to the heap, where a whole slab of it is

}  // namespace dyadic::inline v1
