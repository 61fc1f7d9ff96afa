"""Discrete Fourier transforms under PyTorch's names, made from the op records: help(dyadic.fft.rfft)."""
from ._records import namespace

globals().update(namespace("fft"))
