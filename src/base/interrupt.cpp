#include "dyadic/interrupt.h"

#include <signal.h>

#include <atomic>

namespace dyadic::inline v1 {

namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // or a signal handler may not touch it
bool installed = false;
struct sigaction before_int, before_term;

void on_signal(int number) {
  if (flag.exchange(true) && number == SIGINT) {
    ::signal(number, SIG_DFL);
    ::raise(number);  // delivered when the handler returns
  }
}

}  // namespace

void install_interrupt_handler() {
  if (installed) return;
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &before_int);
  ::sigaction(SIGTERM, &action, &before_term);
  installed = true;
}
void remove_interrupt_handler() {
  if (!installed) return;
  ::sigaction(SIGINT, &before_int, nullptr);
  ::sigaction(SIGTERM, &before_term, nullptr);
  installed = false;
}
bool interrupted() noexcept { return flag.load(std::memory_order_relaxed); }
void clear_interrupt() noexcept { flag.store(false); }
void request_interrupt() noexcept { flag.store(true); }

}  // namespace dyadic::inline v1
