"""What the documents name is there: files, commands and their options, names in Python; what they show as code runs. C++ of README is
compiled and run by tests/packaging/install_test.sh."""
import fnmatch
import functools
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dyadic

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(dyadic.__file__).parents[2] / "bin" / "dyadic"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md"), *ROOT.glob("examples/**/*.md")])
SOURCES = ("h", "cpp", "py", "md", "sh", "cmake", "inc", "txt")
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))


def everything():
    """Every file and folder of the project, as "/a/b", and what is made from its records."""
    generated = PROGRAM.parents[1] / "generated"
    made = ["/" + str(p.relative_to(generated)) for p in generated.rglob("*")]
    own = [p for p in ROOT.iterdir() if p.name not in ("build", ".git") and not p.name.startswith("..")]
    return made + ["/" + str(p.relative_to(ROOT)) for top in own for p in [top, *(top.rglob("*") if top.is_dir() else ())] if "__pycache__" not in p.parts]


FILES = everything()
FOLDERS = {part for path in FILES for part in path.split("/")[1:-1]}


def spans(text):
    """Code in a document: what stands in backticks, lines of blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) + ["\n".join(re.findall(r"^    (\S.*)$", text, re.M))]
    inline = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return [" ".join(s.split()) for s in inline] + [line.strip() for b in blocks for line in b.replace("\\\n", " ").splitlines()]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)


def named_paths(text):
    """Paths among the code and links of a document. What is made by running something is no part of the project: build/, train-*/ ..."""
    found = re.findall(r"\]\(([^)#]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    for span in spans(text):
        for word in re.findall(r"[\w.<>*/-]+", span):
            suffix = word.rpartition(".")[2]
            is_source = "." in word and suffix in SOURCES and (suffix != "txt" or "/" in word)
            is_below = "/" in word.strip("/") and word.split("/")[0] in FOLDERS
            if (is_source or is_below) and not word.startswith(("build/", "http", "-", "/")):
                found.append(word)
    return [p for p in found if not p.startswith("http")]


def is_there(path, document):
    """The end of a path of the project, or beside the document; <layer> and * stand for any name."""
    pattern = re.sub(r"<[^>]*>", "*", path).strip("/").removeprefix("./").removeprefix("../")
    pattern = re.sub(r"^\.\./", "", pattern)
    return any(fnmatch.fnmatchcase(f, "*/" + pattern) for f in FILES) or (document.parent / path).exists()


@each_document
def test_paths_exist(document):
    paths = named_paths(document.read_text())
    assert [p for p in paths if not is_there(p, document)] == []


def test_paths_are_found():
    text = "`src/ops/gone.cpp`, [a](docs/gone.md), `corridor/tape.h` and\n\n    dyadic_tests --x\n\n```sh\nrun tests/none/x.py\n```\n`<name>_kernel.cpp`"
    assert named_paths(text) == ["docs/gone.md", "src/ops/gone.cpp", "corridor/tape.h", "<name>_kernel.cpp", "tests/none/x.py"]
    there = [p for p in named_paths(text) if is_there(p, ROOT / "README.md")]
    assert there == ["corridor/tape.h", "<name>_kernel.cpp"]
    assert sum(len(named_paths(d.read_text())) for d in DOCUMENTS) > 60


@functools.cache
def help_of(*words):
    return subprocess.run([*words], capture_output=True, text=True, check=True).stdout


def commands(text):
    """(program, subcommand, options) in a document: ./dev and dyadic."""
    for span in spans(text):
        for program, verb, rest in re.findall(r"(?:^|[\s(])(\./dev|(?:build/release/bin/)?dyadic) ([a-z]+)\b([^#;|]*)", span):
            if verb in ("as", "import"):  # import dyadic as torch, from dyadic import study
                continue
            yield "./dev" if program == "./dev" else "dyadic", verb, re.findall(r"--[a-z][\w-]*", rest)
        if re.fullmatch(r"(\./dev|dyadic) [a-z]+", span) is None and span.startswith("--"):
            yield "", "", re.findall(r"--[a-z][\w-]*", span)


@each_document
def test_commands_and_options_exist(document):
    usage = help_of(ROOT / "dev", "help")
    verbs = set(re.findall(r"^  ([a-z]+) ", usage, re.M))
    helps = {s: help_of(PROGRAM, s, "--help") for s in re.findall(r"^  ([a-z]+) ", help_of(PROGRAM, "--help"), re.M)}
    parts = re.findall(r"^  ([a-z]+) ", helps["bench"], re.M)
    helps["bench"] += "".join(help_of(PROGRAM, "bench", part, "--help") for part in parts)
    anywhere = usage + "".join(helps.values()) + help_of(PROGRAM, "--help") + (ROOT / "bench" / "rows.py").read_text()
    wrong = []
    for program, verb, options in commands(document.read_text()):
        if program == "./dev":
            if verb not in verbs:
                wrong.append(f"./dev {verb}")
            known = anywhere if verb in ("study", "bench") else usage
        elif program == "dyadic":
            if verb not in helps:
                wrong.append(f"dyadic {verb}")
            known = helps.get(verb, "")
        else:
            known = anywhere + " --prefix --gtest_filter"
        wrong += [f"{program} {verb} {o}" for o in options if not re.search(re.escape(o) + r"\b(?!-)", known)]
    assert wrong == []


def test_commands_are_found():
    text = "`./dev tset`, `dyadic train --preset x --shiny`\n\n```sh\nbuild/release/bin/dyadic study --data a   # --not this\n./dev test --fast\n```\n"
    assert [c for c in commands(text) if c[0]] == [
        ("./dev", "tset", []), ("dyadic", "train", ["--preset", "--shiny"]), ("dyadic", "study", ["--data"]), ("./dev", "test", ["--fast"])
    ]
    assert sum(1 for d in DOCUMENTS for _ in commands(d.read_text())) > 30


def resolved(name):
    """The object that a dotted name means in Python."""
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(".".join(parts[:i]))
    return found


@each_document
def test_names_in_python_exist(document):
    names = {n for span in spans(document.read_text()) for n in re.findall(r"(?<![\w./-])(dyadic(?:\.[A-Za-z_]\w*)+)", span)}
    for name in names:
        resolved(name)


@pytest.mark.parametrize("i", range(len(blocks("README.md", "python"))))
def test_python_of_the_readme_runs(i, tmp_path):
    done = subprocess.run([sys.executable, "-c", blocks("README.md", "python")[i]], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def test_the_readme_has_code():
    assert len(blocks("README.md", "python")) >= 1 and len(blocks("README.md", "cpp")) >= 1


def test_contributing_shows_a_whole_file():
    """What is said to be the whole of a file is, within its namespace."""
    (shown,) = blocks("CONTRIBUTING.md", "cpp")
    (path,) = re.findall(r"`(src/ops/pointwise/\w+\.cpp)`", (ROOT / "CONTRIBUTING.md").read_text())
    (there,) = re.findall(r"^namespace .*?\{\n\n(.*?)\n\}  // namespace", (ROOT / path).read_text(), re.M | re.S)
    assert shown.strip() == there.strip()


def test_configs_name_options():
    """Config files in the documents: every key is an option of dyadic train."""
    options = help_of(PROGRAM, "train", "--help")
    keys = [key for d in DOCUMENTS for line in re.findall(r'^ *(\{"preset".*\})$', d.read_text(), re.M) for key in json.loads(line)]
    assert keys and [key for key in keys if f"--{key}" not in options] == []


def test_number_lines_are_the_program_s(tmp_path):
    subprocess.run([PROGRAM, "formats", "--svg", tmp_path / "lines.svg"], check=True, capture_output=True)
    assert (tmp_path / "lines.svg").read_text() == (ROOT / "docs" / "number_lines.svg").read_text()


def test_the_site_has_every_page():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "tools/docs/mkdocs.yml").read_text(), re.M)
    assert sorted(listed) == sorted(str(p.relative_to(ROOT / "docs")) for p in ROOT.glob("docs/**/*.md"))


def test_the_readmes_figures():
    text = " ".join((ROOT / "README.md").read_text().split())
    everything = json.loads(help_of(PROGRAM, "ops", "--json"))
    differentiable = [
        e["name"] for e in everything["ops"] if not e["internal"] and any(re.match("yes|through the ops it calls$", str(r["gradient"])) for r in e["records"])
    ]
    (said,) = re.findall(r"more than (\d+) ops with gradients", text)
    assert int(said) < len(differentiable) < int(said) + 50
    from dyadic import distributions

    kinds = {v for v in vars(distributions).values() if isinstance(v, type) and issubclass(v, distributions.Distribution)}
    kinds -= {distributions.Distribution, distributions.ExponentialFamily}
    assert f"{len(kinds)} distributions" in text
    assert "eighteen optimizers" in text and len(everything["optimizers"]) == 18


def test_the_readme_names_every_subcommand():
    listed = re.search(r"foreach\(command ([^)]*)\)", (ROOT / "src/cli/CMakeLists.txt").read_text())[1].split()
    text = (ROOT / "README.md").read_text()
    assert [name for name in listed if f"`{name}`" not in text and f"dyadic {name}" not in text] == []
