#include "plugins/cuda/sim/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __has_feature
#define DY_BUILT_WITH(x) __has_feature(x)
#else
#define DY_BUILT_WITH(x) 0
#endif
#if __SANITIZE_ADDRESS__ || DY_BUILT_WITH(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define DY_ASAN 1
#elif __SANITIZE_THREAD__ || DY_BUILT_WITH(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define DY_TSAN 1
#endif
#ifndef __x86_64__
#error "the simulator's fibers are written for x86-64"
#endif

// Saves what a call preserves on the stack that is left, notes where that stands, takes the other's.
extern "C" __attribute__((visibility("hidden"))) void dy_sim_switch(void** from, void* to);
__asm__(R"(
.text
.hidden dy_sim_switch
.globl dy_sim_switch
.type dy_sim_switch, @function
dy_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dy_sim_switch, . - dy_sim_switch
)");

namespace dyadic::gpu::sim {
namespace {

#if DY_ASAN || DY_TSAN
constexpr size_t kStack = 512 << 10;
#else
constexpr size_t kStack = 128 << 10;
#endif
constexpr size_t kGuard = 4096;

Fiber* current = nullptr;
void* outside = nullptr;  // where resume() stands
#if DY_ASAN
const void* outside_stack = nullptr;
size_t outside_size = 0;
void* outside_fake = nullptr;
#elif DY_TSAN
void* outside_fiber = nullptr;
#endif

}  // namespace

void Fiber::reset(void (*body)()) {
  if (!stack_) {
    void* p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<char*>(p);
    mprotect(stack_, kGuard, PROT_NONE);
  }
#if DY_ASAN
  __asan_unpoison_memory_region(stack_ + kGuard, kStack - kGuard);
#elif DY_TSAN
  if (sanitizer_) __tsan_destroy_fiber(sanitizer_);
  sanitizer_ = __tsan_create_fiber(0);
#endif
  body_ = body;
  void** at = reinterpret_cast<void**>(stack_ + kStack - 64);
  *--at = nullptr;  // whoever unwinds stops here; enter() finds the stack as a call leaves it
  *--at = reinterpret_cast<void*>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--at = nullptr;
  top_ = at;
}

Fiber::~Fiber() {
  if (stack_) munmap(stack_, kStack);
#if DY_TSAN
  if (sanitizer_) __tsan_destroy_fiber(sanitizer_);
#endif
}

void Fiber::resume() {
  current = this;
#if DY_ASAN
  __sanitizer_start_switch_fiber(&outside_fake, stack_ + kGuard, kStack - kGuard);
#elif DY_TSAN
  outside_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_, 0);
#endif
  dy_sim_switch(&outside, top_);
#if DY_ASAN
  __sanitizer_finish_switch_fiber(outside_fake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  Fiber* const me = current;
#if DY_ASAN
  __sanitizer_start_switch_fiber(&me->sanitizer_, outside_stack, outside_size);
#elif DY_TSAN
  __tsan_switch_to_fiber(outside_fiber, 0);
#endif
  dy_sim_switch(&me->top_, outside);
#if DY_ASAN
  __sanitizer_finish_switch_fiber(me->sanitizer_, &outside_stack, &outside_size);
#endif
}

void Fiber::enter() {
#if DY_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &outside_stack, &outside_size);
#endif
  current->body_();
  std::abort();
}

}  // namespace dyadic::gpu::sim
