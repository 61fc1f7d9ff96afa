// What lies beneath the backend: the CUDA runtime (driver_cuda.cu) or the simulator (sim/driver.cpp). Streams and events are
// handles; a stream is never null here. What cannot be done raises an Error, by a line that names the remedy.
#pragma once
#include <cstdint>
#include <string>

#include "device/backend.h"

namespace dyadic::gpu {

struct Failure;  // kernel.h

namespace driver {

int count();
std::string why_none();  // why count() is 0
DeviceProperties properties(int device);
std::string versions();
std::string architectures();
void use(int device);  // launches of this thread go there

// Memory, in multiples of kGrain. Where taken_side_by_side(), one segment begins where the last one ended as long as there are
// addresses, and memory may be used across the border.
inline constexpr int64_t kGrain = 2 << 20;
bool taken_side_by_side(int device);
void* take(int device, int64_t bytes);  // null: there is none left
void give(int device, void* segment, int64_t bytes);
// There, segments can move to other addresses too while nothing works on them: find_place() says where there are as many side
// by side.
char* find_place(int device, int64_t bytes);  // null: nowhere
void move(int device, void* segment, int64_t bytes, void* to);
void free_and_total(int device, int64_t* free, int64_t* total);

void* first_stream(int device);
void* new_stream(int device, int priority);
void delete_stream(int device, void* stream);
void finish_stream(int device, void* stream);  // waits, and raises nothing
bool stream_done(int device, void* stream);
void wait_stream(int device, void* stream);  // raises what has gone wrong on the device
void wait_device(int device);                // the same, of all its streams

void* new_event(int device, bool timed);
void delete_event(void* event);
void record_event(int device, void* event, void* stream);
void wait_event(int device, void* stream, void* event);
bool event_done(void* event);
void synchronize_event(void* event);
double milliseconds(void* from, void* to);

// In the order of the stream. What is read from the host has been read on return; what is written there is written when the
// stream is done.
enum class Way : uint8_t { to_device, to_host, within };
void copy(int device, void* target, const void* source, int64_t bytes, Way way, void* stream);
void copy_between(int to, void* target, int from, const void* source, int64_t bytes, void* stream);  // of the device `to`

Failure* failures(int device);  // in memory that kernels write and the host reads

}  // namespace driver

// Answered by current.cpp: this thread's device and stream, and the name of a call's op by its number.
int current_device();
void* current_stream();
std::string name_of_call(int number);

}  // namespace dyadic::gpu
