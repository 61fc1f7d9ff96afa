// LoRA adapters in GGUF files.
#pragma once
#include "dyadic/gguf.h"

namespace dyadic::inline v1::models {

bool is_gguf_adapter(const io::GgufFile& file);
// PEFT's tensors as a GGUF file has them, and the other way; base_config: config.json of the model that they are for.
// ValueError naming what has no place there.
std::shared_ptr<io::TensorFile> adapter_to_gguf(std::shared_ptr<const io::TensorFile> weights,
                                                const std::string& adapter_config, const std::string& base_config);
std::shared_ptr<io::TensorFile> adapter_from_gguf(std::shared_ptr<const io::GgufFile> file, const std::string& base_config);
std::string adapter_config_of(const io::GgufFile& file);  // adapter_config.json: its own, or made of its keys and tensors

}  // namespace dyadic::inline v1::models
