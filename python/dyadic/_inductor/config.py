"""Options of a compiler that is not here: they can be set, and change nothing."""
from ..backends._absent import Switches

coordinate_descent_tuning = epilogue_fusion = freezing = max_autotune = fx_graph_cache = False
triton, cpp = Switches(unique_kernel_names=False, cudagraphs=False), Switches(threads=-1)
