// The machine's description and its measured limits, which every speed is shown as a share of.
#pragma once
#include <cstdint>
#include <string>

namespace dyadic::inline v1::account {

struct MachineInfo {
  std::string cpu, os, isa, compiler;
  int cores = 0, threads = 0;
  int64_t memory = 0;  // bytes installed; 0: not known
};
MachineInfo machine_info();

// Measured with the present number of threads; per second, best of several, each but the second so short that others' work on a
// busy machine comes between them.
struct Peaks {
  double flops_f32 = 0;           // multiply-adds on registers: the processor's limit
  double flops_bf16 = 0;          // a 1024^3 matrix product
  double bytes_per_s = 0;         // read plus written, of a copy of 64 MiB in pieces of 4
  double product_f32 = 0;         // FLOPs of a 256^3 matrix product
  double function_f32 = 0;        // FLOPs, as they are counted, of tanh of 16 Ki elements for each thread
  double cached_bytes_per_s = 0;  // read plus written, of copies of 128 KiB by each thread, again and again
};
Peaks measure_peaks(double seconds = 0.4);  // about so long, and as long again to begin
// Measured once, by the first to ask: about 0.1 s and 128 MiB, which are given back.
const Peaks& peaks();

// Resident size of this process now, and its high-water mark since the last reset; -1 where /proc does not tell.
int64_t resident_bytes();
int64_t resident_high_water();
bool reset_resident_high_water();  // false where the system does not allow it

class SmallPages {  // while it lives, this process gets no huge pages
  int before_;

 public:
  SmallPages();
  ~SmallPages();
  SmallPages(const SmallPages&) = delete;
};

}  // namespace dyadic::inline v1::account
