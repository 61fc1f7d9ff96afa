"""oneDNN, which is not used: its switches change nothing."""
from ._absent import Switches, is_available  # noqa: F401

enabled, deterministic, allow_tf32 = False, True, False
matmul, conv, rnn = (Switches(fp32_precision="ieee") for _ in range(3))
