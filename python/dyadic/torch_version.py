"""Versions as PyTorch has them: texts that are compared as versions are."""
import operator
import re

TORCH = "2.15.0"  # the release whose behaviour is kept: the stored results that the tests hold ops and modules to are its


def _compared(compare):
    def method(self, other):
        mine, theirs = _parts(self), _parts(other)
        return NotImplemented if theirs is None else compare(mine, theirs)

    return method


class TorchVersion(str):
    """A version's text, which is compared with texts and with tuples of numbers as a version is: "2.15.0" > "2.2", (2, 9) < it."""

    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)
    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)
    __hash__ = str.__hash__


def _parts(version):
    """([2, 15], True, "dyadic") of "2.15.0+dyadic" and of objects with such a text; None of what is no version. Zeros at the end do not count."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    found = re.fullmatch(r"v?(\d+(?:\.\d+)*)([^+]*)(?:\+(.*))?", str(version))
    if not found:
        return None
    numbers = [int(n) for n in found.group(1).split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers, not found.group(2), found.group(3) or ""


__all__ = ["TorchVersion"]
