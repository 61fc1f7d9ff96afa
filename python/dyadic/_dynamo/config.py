"""Options of a compiler that is not here: they can be set, and change nothing."""
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
capture_dynamic_output_shape_ops = capture_scalar_outputs = suppress_errors = verbose = False
automatic_dynamic_shapes = assume_static_by_default = optimize_ddp = True
