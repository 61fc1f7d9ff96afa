// What a file of kernels (ops/*.cu) is made of:
//
//   struct Rows { int64_t n; ... };                                    parameters, trivially copyable
//   __global__ void softmax_rows(const float* in, float* out, Rows p)  the kernel
//   void run(const Rows& p, const Pointers& at) { launch(softmax_rows, grid_for(p.n), ...); }
//   void plan(Call& c) { Rows& p = c.plan.make<run, Rows>(); ... }     decides everything, from geometry alone
//   const Registered softmax{"softmax", {.plan = plan, .dense = true}};
//
// run() launches on the current stream and returns; pointers are the device's, but for 0-d operands of the host (number()). It
// neither allocates nor waits: what it needs beside its operands is the plan's workspace.
#pragma once
#include "corridor/call.h"
#include "device/backend.h"
#include "plugins/cuda/elements.h"
#include "plugins/cuda/language.h"

namespace dyadic::gpu {

struct Registered {
  Registered(const char* op, const Kernel& kernel, int gradient = -1);  // Note: names and kernels live as long as the plug-in
};

// What a kernel finds wrong with values: the first of them is raised where the host next waits, by the op's name.
enum class Fault : int { none, index };
struct Failure {
  int fault;
  int op;  // of the calls that have been made, by number
  long long value, limit;
};
Failure* failures();  // of the current device, for kernels; one for all calls
int op_number();      // of the call that runs
DY_DEVICE void fail_index(Failure* f, int op, int64_t value, int64_t size) {
#if __CUDA_ARCH__ || !__CUDACC__
  if (atomicCAS(&f->fault, int(Fault::none), int(Fault::index)) == int(Fault::none))
    f->op = op, f->value = value, f->limit = size;
#endif
}

}  // namespace dyadic::gpu
