// What went along with quantized weights (io::BesideWeights) in a GGUF file: as one text, whose numbers are bytes.
#pragma once
#include "dyadic/gguf.h"
#include "io/quantized/packing.h"

namespace dyadic::inline v1::models {

// {"<weight>": {"<tensor>": ["f32", [1], "0000803f"]}}: dtype, shape, the elements' bytes in hexadecimal.
void put_beside(io::GgufMetadata& keys, const io::BesideWeights& beside);
io::BesideWeights beside_of(const io::GgufFile& file);  // ValueError for what is no such text

}  // namespace dyadic::inline v1::models
