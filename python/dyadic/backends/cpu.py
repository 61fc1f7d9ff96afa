"""What the CPU can do."""
from .._dyadic import isa


def get_cpu_capability():
    """The widest instructions in use: "AVX512", "AVX2" or "DEFAULT"."""
    return {"avx512": "AVX512", "avx2": "AVX2"}.get(isa(), "DEFAULT")
