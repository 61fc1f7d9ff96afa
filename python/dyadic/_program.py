"""The program `dyadic` of an installed package: its subcommands are in the extension module."""
import signal
import sys

from ._dyadic import _program


def main():
    for number in (signal.SIGINT, signal.SIGPIPE):  # Python's ways with them are not the program's
        signal.signal(number, signal.SIG_DFL)
    sys.exit(_program(["dyadic", *sys.argv[1:]]))
