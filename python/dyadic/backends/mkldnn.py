"""oneDNN's switches in PyTorch. Here the library decides by the processor (DYADIC_BF16), and they change nothing."""
from .._ignored import Switches
from ._absent import is_available  # noqa: F401

_WHY = "kernels are chosen by the processor"
globals().update(vars(Switches(_WHY, enabled=False, deterministic=True, allow_tf32=False)))
matmul = Switches(_WHY, fp32_precision="ieee")
conv = Switches(_WHY, fp32_precision="ieee")
rnn = Switches(_WHY, fp32_precision="ieee")
