// Ctrl-C as a flag that long work polls between steps; nothing is torn down in a signal handler.
#pragma once

namespace dyadic::inline v1 {

// SIGINT and SIGTERM set the flag; a second SIGINT ends the process as the system would. Calling it again does nothing.
void install_interrupt_handler();
void remove_interrupt_handler();  // what was there before comes back
bool interrupted() noexcept;
void clear_interrupt() noexcept;
void request_interrupt() noexcept;  // as if Ctrl-C had been pressed

}  // namespace dyadic::inline v1
