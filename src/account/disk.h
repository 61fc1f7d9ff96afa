// What a disk does.
#pragma once
#include <cstdint>
#include <string>

namespace dyadic::inline v1::account {

// Bytes that the system could still give, its cache of files among them; 0 where /proc does not tell.
int64_t available_memory();

// Bytes a second of mapped memory written to and read from a file in `folder`, or in the nearest folder above that is there: of
// the disk where `bytes` are more than the system could keep in memory, else of its cache. Takes 16 MiB of the disk for a
// moment. Error with the system's reason.
double disk_rate(const std::string& folder, int64_t bytes);

}  // namespace dyadic::inline v1::account
