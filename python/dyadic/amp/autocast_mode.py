"""autocast as a context manager and decorator, and for functions with a gradient of their own."""
import functools

from .. import _dyadic
from .._dyadic import Tensor
from ..autograd import Mode
from .switches import DEVICES, device_name, get_autocast_dtype, is_autocast_enabled


class AutocastReport(list):
    """Dicts of op, ran, given, calls, casts, cached, why; printed as a table."""

    def __init__(self):
        super().__init__(_dyadic._autocast_report())
        self._text = _dyadic._autocast_report_text()

    def __str__(self):
        return self._text


class autocast(Mode):
    """Inside, matrix products run in `dtype` and what needs the range (exp, softmax, losses ...) in float32, as each op's record says;
    backward runs in the dtypes of forward. A context manager or a decorator. dtype: bfloat16, float16 (what "cuda" begins with:
    it runs on the CPU here), or float8_e4m3fn: linear layers multiply f8 numbers by the scales of `recipe`, a DelayedScaling.
    """

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None, recipe=None):
        device_name(device_type, "autocast")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled
        self._arguments = (device_type, dtype, enabled, cache_enabled, recipe)
        cache = _dyadic.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._scope = _dyadic._Autocast(self.fast_dtype, enabled, cache, recipe)

    def _again(self):
        return autocast(*self._arguments)

    def __enter__(self):
        self._scope.enter()
        return self

    def __exit__(self, *exc):
        self._scope.exit()

    @staticmethod
    def report():
        """What this thread's calls under autocast ran in and why, since clear_report(): print it, or read its dicts."""
        return AutocastReport()

    @staticmethod
    def clear_report():
        """Begins the report anew."""
        _dyadic._clear_autocast_report()


def is_autocast_available(device_type):
    """Whether autocast takes the name of a device."""
    return str(device_type).split(":")[0] in DEVICES


def _cast(value, dtype):
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() and value.element_size() < 8 else value
    if isinstance(value, dict):
        return {_cast(k, dtype): _cast(v, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_cast(v, dtype) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def custom_fwd(fwd=None, *, device_type="cpu", cast_inputs=None):
    """Decorates forward of an autograd Function. With cast_inputs, under autocast, floating inputs (but float64) are cast to it and
    forward runs with autocast off; else forward runs as it is called."""
    device_name(device_type, "custom_fwd")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx, *args, **kwargs):
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, ctx._dtype, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type="cpu"):
    """Decorates backward of an autograd Function: it runs under the autocast that forward ran under."""
    device_name(device_type, "custom_bwd")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx, *args, **kwargs):
        with autocast(device_type, ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward
