"""Options of a compiler that is not here: they can be set, and change nothing."""
from .._ignored import Switches

_WHY = "there is no compiler yet"
globals().update(
    vars(Switches(_WHY, coordinate_descent_tuning=False, epilogue_fusion=False, freezing=False, max_autotune=False, fx_graph_cache=False))
)
triton = Switches(_WHY, unique_kernel_names=False, cudagraphs=False)
cpp = Switches(_WHY, threads=-1)
