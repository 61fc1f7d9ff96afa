// What this thread works on: a device, a stream of each, a call. Streams are null where it is the device's first.
#pragma once
#include "plugins/cuda/runtime/driver.h"

namespace dyadic::gpu {

void enter_device(int device);
void* chosen_stream(int device);
void choose_stream(int device, void* stream);
inline void* stream_or_first(int device, void* stream) { return stream ? stream : driver::first_stream(device); }
void enter_call(const char* op);  // the name of its op, which lives on

}  // namespace dyadic::gpu
