"""PyTorch's constant of process groups."""
from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
