// Prints the instruction set of the machine that configures (DyadicLayers.cmake: DYADIC_ISAS=native).
#include <cstdio>

#include "base/processor.h"

int main() {
  __builtin_cpu_init();
  const char* isa = dyadic::isa_of_processor();
  std::puts(isa ? isa : "");
  return isa ? 0 : 1;
}
