"""The tutorials run from top to bottom, and print what stands below their code; what they show of the sources is there."""
import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(text):
    """(code, what it prints): a block of python, and the block of text right behind it."""
    found = list(BLOCK.finditer(text))
    for block, after in zip(found, found[1:] + [None]):
        if block[1] == "python":
            beside = after and after[1] == "text" and not text[block.end() : after.start()].strip()
            yield block[2], after[2] if beside else ""


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda p: p.stem)
def test_runs(tutorial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, ran = {"__name__": "__main__"}, 0
    for code, wanted in steps(tutorial.read_text()):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(tutorial), "exec"), names)
        assert doctest.OutputChecker().check_output(wanted, out.getvalue(), FLAGS), f"{code}\nprints\n{out.getvalue()}\nnot\n{wanted}"
        ran += 1
    assert ran >= 1


def test_there_are_five():
    assert [t.stem for t in TUTORIALS] == ["first_tensors", "own_op_and_format", "quantize", "resume", "train"]


def test_shown_sources_are_there():
    for tutorial in TUTORIALS:
        text = tutorial.read_text()
        paths = re.findall(r"the whole of\s+`(src/[\w/.]+)`", text)
        shown = [m[2] for m in BLOCK.finditer(text) if m[1] == "cpp"]
        assert len(paths) == len(shown)
        for path, code in zip(paths, shown):
            (there,) = re.findall(r"^namespace .*?\{\n\n(.*?)\n\}  // namespace", (ROOT / path).read_text(), re.M | re.S)
            assert code.strip() == there.strip()
