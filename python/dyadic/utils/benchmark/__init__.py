"""Timers of small pieces of code."""
from .timer import Measurement, Timer

__all__ = ["Measurement", "Timer"]
