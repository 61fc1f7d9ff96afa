"""Notebooks as people write them for PyTorch, run after `import dyadic as torch`: they print what they print there."""
import re
from pathlib import Path

import pytest

import dyadic

FOLDER = Path(__file__).parent / "notebooks"


def translated(code):
    code = re.sub(r"^import torch$", "import dyadic as torch", code, flags=re.MULTILINE)
    return re.sub(r"^(import|from) torch\b", r"\1 dyadic", code, flags=re.MULTILINE)


def same_words(text):
    """The library's name is its own; what rounds to nothing has the sign of its noise."""
    text = text.replace("torch.", "dyadic.")
    return re.sub(r"-(0\.0+)\b", r"\1", text)


@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*.out")))
def test_notebook_prints_what_pytorch_prints(name, capsys):
    code = translated((FOLDER / f"{name}.py").read_text())
    default, names = dyadic.get_default_dtype(), {"__name__": name}
    try:
        exec(compile(code, name, "exec"), names)
    finally:
        names.clear()  # functions and the names they see hold each other
        dyadic.set_default_dtype(default)
        dyadic.set_printoptions(profile="default")
    printed = capsys.readouterr().out
    assert same_words(printed).splitlines() == same_words((FOLDER / f"{name}.out").read_text()).splitlines()
