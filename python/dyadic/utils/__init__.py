"""What surrounds training: data."""
from . import data
