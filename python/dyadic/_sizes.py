"""Sizes as people write them."""
import re


def size_in_bytes(size, name):
    """500, "500", "2G" and "2GiB" (1024 each, as the program reads them), "2GB" (1000 each, as accelerate does). `name`: of the
    argument, for the ValueError of another text."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(?:([KMGT])(i?B)?)?", size.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"{name}: {size!r} is not a number of bytes; write 500M, 2GiB or 2GB")
    number, unit, end = found.groups()
    return int(float(number) * (1000 if (end or "").upper() == "B" else 1024) ** " KMGT".index((unit or " ").upper()))
