"""Statements that must hold, and functions of sizes, which PyTorch's compiler may not know while it translates: here they are numbers."""
import builtins
import math

__all__ = """
SymBool SymFloat _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type _check_value _check_with
sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum
""".split()


class SymFloat:
    """Of numbers that are not known yet, which isinstance asks for: there are none."""


class SymBool:
    """Of truths that are not known yet, which isinstance asks for: there are none."""


def _assert(condition, message):
    """assert condition, message."""
    assert condition, message


def _check_with(error_type, cond, message):
    """Raises error_type where cond does not hold; message() is its text, or None."""
    if not cond:
        raise error_type("Expected cond to be True, but got False" if message is None else str(message()))


def _raising(name, error):
    def check(cond, message=None):
        _check_with(error, cond, message)

    check.__name__, check.__doc__ = name, f"Raises {error.__name__} where cond does not hold; message() is its text."
    return check


_check, _check_index, _check_value = _raising("_check", RuntimeError), _raising("_check_index", IndexError), _raising("_check_value", ValueError)
_check_type, _check_not_implemented = _raising("_check_type", TypeError), _raising("_check_not_implemented", NotImplementedError)


def _check_is_size(i, message=None, *, max=None):
    """Raises RuntimeError where i is no size: below 0, or above max."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError where an element does not hold."""
    _check(bool(cond.all()), message)


def sym_float(a):
    """float(a)"""
    return float(a)


def sym_int(a):
    """a towards zero."""
    return int(a)


def sym_not(a):
    """not a"""
    return not a


def sym_ite(b, t, f):
    """t if b else f"""
    return t if b else f


def sym_max(a, b):
    """The larger one; a float where one is."""
    return float(builtins.max(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.max(a, b)


def sym_min(a, b):
    """The smaller one; a float where one is."""
    return float(builtins.min(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.min(a, b)


def sym_sqrt(a):
    """The square root."""
    return math.sqrt(a)


def sym_sum(args):
    """The sum."""
    return builtins.sum(args)


def sym_fresh_size(expr):
    """expr"""
    return expr
