"""python -m dyadic script.py arguments: runs a program that is written for PyTorch, as python does, with this package as torch."""
import sys

USAGE = """usage: python -m dyadic script.py [argument ...]
       python -m dyadic -m module [argument ...]
       python -m dyadic -c code [argument ...]

Runs a program as python would, with `import torch` meaning dyadic."""


def _main_module(file):
    """A new __main__, as python makes it for a script."""
    import builtins
    import types

    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    if file is not None:
        from importlib.machinery import SourceFileLoader

        main.__dict__.update(__file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file))
    sys.modules["__main__"] = main
    return main


def _run(text, file, main):
    try:
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as e:
        e.__traceback__ = None
        sys.excepthook(type(e), e, None)
        sys.exit(1)
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as e:
        e.__traceback__ = e.__traceback__.tb_next
        sys.excepthook(type(e), e, e.__traceback__)
        sys.excepthook = lambda *shown: None  # it has been shown: what is left is python's exit code
        raise


def _script(path):
    import io
    import os

    try:
        with io.open_code(os.path.abspath(path)) as f:
            text = f.read()
    except OSError as e:
        print(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: [Errno {e.errno}] {e.strerror}", file=sys.stderr)
        sys.exit(2)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    file = os.path.abspath(path)
    _run(text, file, _main_module(file))


def _main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr if not arguments else sys.stdout)
        sys.exit(0 if arguments else 2)
    kind = arguments[0]
    if kind in ("-m", "-c") and len(arguments) < 2:
        print(f"{USAGE}\n\n{kind}: an argument is missing", file=sys.stderr)
        sys.exit(2)
    if kind.startswith("-") and kind not in ("-m", "-c"):
        print(f"{USAGE}\n\nunknown option {kind}; options of python stand before -m dyadic", file=sys.stderr)
        sys.exit(2)
    from ._as_torch import as_torch

    as_torch()
    if kind == "-m":
        import runpy

        sys.argv[:] = arguments[1:]
        runpy._run_module_as_main(arguments[1])
    elif kind == "-c":
        sys.argv[:] = ["-c", *arguments[2:]]
        if not getattr(sys.flags, "safe_path", False):
            sys.path[0] = ""
        _run(arguments[1] + "\n", "<string>", _main_module(None))
    else:
        sys.argv[:] = arguments
        _script(arguments[0])


if __name__ == "__main__":
    _main()
