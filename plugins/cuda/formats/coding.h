// Blocked tensors to and from plain values.
#pragma once
#include "formats/format.h"
#include "plugins/cuda/copies/space.h"
#include "plugins/cuda/formats/blocked.h"

namespace dyadic::gpu {

// Elements of a blocked tensor into a scalar one, to which it is broadcast.
void decode(const Operand& target, const Operand& source, const Blocked& from, const Round& round, void* to, const void* at);

// A whole blocked tensor from its values in storage order: f32 for scaled formats, any scalar format for packed ones.
// Workspace: encode_room() bytes; -1: there is no device code.
int64_t encode_room(const Format& f, const Blocked& b);
void encode(const Format& f, const Blocked& b, Code from, const void* values, void* storage, const Round& round,
            void* workspace);

}  // namespace dyadic::gpu
