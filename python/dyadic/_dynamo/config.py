"""Options of a compiler that is not here: they can be set, and change nothing."""
from .._ignored import Switches

_WHY = "there is no compiler yet"
globals().update(
    vars(
        Switches(
            _WHY,
            cache_size_limit=8,
            recompile_limit=8,
            accumulated_cache_size_limit=256,
            accumulated_recompile_limit=256,
            capture_dynamic_output_shape_ops=False,
            capture_scalar_outputs=False,
            suppress_errors=False,
            verbose=False,
            automatic_dynamic_shapes=True,
            assume_static_by_default=True,
            optimize_ddp=True,
        )
    )
)
