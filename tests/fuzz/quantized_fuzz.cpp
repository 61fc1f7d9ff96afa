// A file of tensors as each tool's packing of weights, all of them read: tensors, or a ValueError.
#include "base/log.h"
#include "io/quantized/packing.h"
#include "tests/fuzz/fuzz.h"

DY_FUZZ(quantized, "models/data/quantized") {
  const dyadic::testing::MemoryFile file(data, size);
  dyadic::set_warning_handler([](std::string_view) {});
  for (const char* method : {"bitsandbytes", "gptq", "awq", "fp8", "mxfp4", "compressed-tensors", "mlx", "torchao", "bitnet"})
    try {
      const auto weights = dyadic::io::unpacked(dyadic::io::open(file.path()), {{"quant_method", method}});
      for (size_t i = 0; weights && i < weights->tensors().size(); ++i) try {
          weights->get(i);
        } catch (const dyadic::ValueError&) {}
    } catch (const dyadic::ValueError&) {}
  dyadic::set_warning_handler(nullptr);
}
