// The language that kernels are written in: CUDA C++ as nvcc takes it, or the simulator's, which gives the same words the same
// meaning on a CPU (sim/language.h). A file of kernels includes this by way of kernel.h and says nothing of which of the two it
// is.
#pragma once
#if __CUDACC__
#include <cuda_runtime.h>
#define DY_DEVICE __host__ __device__ __forceinline__
#define DY_DYNAMIC_SHARED(T, name)                            \
  extern __shared__ __align__(16) unsigned char dy_shared_[]; \
  T* const name = reinterpret_cast<T*>(dy_shared_)
#else
#include "plugins/cuda/sim/language.h"
#endif
#include <cstdint>

namespace dyadic::gpu {

struct Grid {
  int64_t blocks = 1;  // in x
  int threads = 256;   // of a block
  int64_t shared = 0;  // bytes that DY_DYNAMIC_SHARED names
  int y = 1, z = 1;    // further blocks
};
// Blocks of `threads` for n things, `each` per thread; at most some waves of the device: kernels go on by strides of the grid.
Grid grid_for(int64_t n, int64_t each = 1, int threads = 256);
int multiprocessors();  // of the current device

// Runs a kernel on this thread's current stream. Arguments become the kernel's parameters as they would in a call.
#if __CUDACC__
cudaStream_t stream();  // this thread's, of its device
void check_launch(cudaError_t status);
void* driver_function(const char* name);  // null: the driver has none
template <class... P> void allow_shared(void (*kernel)(P...), int64_t bytes) {
  if (bytes > (48 << 10)) check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}
template <class... P, class... A> void launch(void (*kernel)(P...), const Grid& g, A... args) {
  if (g.blocks == 0) return;
  allow_shared(kernel, g.shared);
  kernel<<<dim3(unsigned(g.blocks), unsigned(g.y), unsigned(g.z)), unsigned(g.threads), size_t(g.shared), stream()>>>(
      P(args)...);
  check_launch(cudaGetLastError());
}
#else
template <class... P, class... A> void launch(void (*kernel)(P...), const Grid& g, A... args) {
  if (g.blocks == 0) return;
  sim::enqueue({g.blocks, g.y, g.z, g.threads, g.shared, reinterpret_cast<const void*>(kernel)},
               [kernel, held = std::tuple<P...>(P(args)...)] { std::apply(kernel, held); });
}
#endif

}  // namespace dyadic::gpu
