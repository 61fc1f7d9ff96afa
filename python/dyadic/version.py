"""The version, and of what other builds have: nothing."""
from ._dyadic import __version__  # noqa: F401

cuda = hip = xpu = rocm = git_version = None
debug = False
