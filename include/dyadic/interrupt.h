// Ctrl-C as a flag that long work (studies, finetune, generate ...) looks at between steps; nothing is torn down in a signal
// handler. A program asks for it once, in main:
//
//   dy::install_interrupt_handler();
//   dy::study::Study found = dy::study::study(make, loader, loss, options);
//   if (found.interrupted) ...  // the report so far is written; options.resume goes on
#pragma once

namespace dyadic::inline v1 {

// SIGINT and SIGTERM set the flag; a second SIGINT ends the process as the system would. Calling it again does nothing.
void install_interrupt_handler();
void remove_interrupt_handler();    // what was there before comes back
bool interrupted() noexcept;        // whether the flag is set, by whatever means; it stays so
void clear_interrupt() noexcept;    // before work that is to run though something was interrupted
void request_interrupt() noexcept;  // as if Ctrl-C had been pressed; from any thread

}  // namespace dyadic::inline v1
