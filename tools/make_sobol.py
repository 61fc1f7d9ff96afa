#!/usr/bin/env python3
"""make_sobol.py > src/data/sobol_numbers.cpp: direction numbers of Sobol's sequence, packed.

They are S. Joe's and F. Y. Kuo's (new-joe-kuo-6, BSD licence: see NOTICE), as scipy carries them (pip install scipy). Of each dimension but the
first: its primitive polynomial in 14 bits, then, for a polynomial of degree s, the odd numbers m_2 ... m_s (m_1 is 1) without their last bit:
m_i in i - 1 bits. All of them in one row of bits, the first lowest, 64 to a word.
"""
from pathlib import Path

import numpy
import scipy.stats

DIMENSIONS = 1111
POLYNOMIAL_BITS = 14


def bits():
    table = numpy.load(Path(scipy.stats.__file__).with_name("_sobol_direction_numbers.npz"))
    for polynomial, numbers in list(zip(table["poly"].tolist(), table["vinit"].tolist()))[1:DIMENSIONS]:
        degree = polynomial.bit_length() - 1
        assert degree < POLYNOMIAL_BITS and numbers[0] == 1 and all(m % 2 and m < 2**i for i, m in enumerate(numbers[:degree], 1))
        for value, count in [(polynomial, POLYNOMIAL_BITS)] + [(m >> 1, i) for i, m in enumerate(numbers[1:degree], 1)]:
            yield from (value >> k & 1 for k in range(count))


row = list(bits())
words = [sum(bit << k for k, bit in enumerate(row[i : i + 64])) for i in range(0, len(row), 64)]
print("// Direction numbers of Sobol's sequence, by S. Joe and F. Y. Kuo (BSD licence: see NOTICE). Made by tools/make_sobol.py, which says how they")
print("// are packed.")
print("// clang-format off")
print('#include "data/sobol.h"\n')
print("namespace dyadic::inline v1::sobol {\n")
print("const uint64_t kNumbers[] = {")
for i in range(0, len(words), 6):
    print("    " + " ".join(f"0x{w:x}," for w in words[i : i + 6]))
print("};\n\n}  // namespace dyadic::inline v1::sobol")
