"""Arguments that are accepted and change nothing. Each is declared where it is accepted, with the reason; the reference's table is made
of these declarations (tools/make_ignored.py reads them out of the sources), and a test finds arguments that nobody reads or declares.
What would change results or gradients is no such argument: it works, or is an error."""
import functools
import inspect
import warnings

_said = set()


def ignored(*names, why, warn=False, of=""):
    """Declares arguments of the function below it. warn: where silence would mislead, the first call that gives one another value than
    its default says so. of: what the table calls the function, where one definition makes several."""

    def declare(function):
        if warn:
            function = _warning(function, names, why)
        function._ignored = getattr(function, "_ignored", frozenset()) | set(names)
        return function

    return declare


def _warning(function, names, why):
    signature = inspect.signature(function)
    who = function.__qualname__.removesuffix(".__init__")
    first = min(list(signature.parameters).index(name) for name in names)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > first or not kwargs.keys().isdisjoint(names):
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in names and value is not signature.parameters[name].default and value != signature.parameters[name].default:
                    _say(who, name, why)
        return function(*args, **kwargs)

    return call


def _say(who, name, why):
    if (who, name) not in _said:
        _said.add((who, name))
        warnings.warn(f"{who}: {name} changes nothing: {why}", stacklevel=3)


ORDER = "results are dense in the order of their sizes"


def about_memory(who, name, value):
    """What a function is told of its result's memory: a memory_format of another order than that of the sizes says once that it
    changes nothing; a layout is strided, or an error."""
    from . import _functions

    if name == "layout" and value not in (None, _functions.strided):
        kind = NotImplementedError if isinstance(value, _functions._Word) else TypeError
        raise kind(f"{who}: what it makes is strided: layout is {value!r}; dyadic.sparse makes sparse tensors")
    if name == "memory_format" and value not in (None, _functions.contiguous_format, _functions.preserve_format):
        if not isinstance(value, _functions._Word):
            raise TypeError(f"{who}: an argument has the wrong type: memory_format is {value!r}; it takes a memory format")
        _say(who, name, ORDER)


class Switches:
    """Settings of another library, as attributes: they can be set and read, and change nothing."""

    def __init__(self, why, **switches):
        self.__dict__.update(switches)
