"""Tests of tools/check_layers.py and tools/check_isa_symbols.py: a clean tree passes, and each kind of violation is named."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent.parent / "tools"
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "c++"


def run(tool, folder):
    done = subprocess.run([sys.executable, TOOLS / tool, folder], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.root = Path(self.holder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Layers(Folder):
    def setUp(self):
        super().setUp()
        self.write("src/CMakeLists.txt", "foreach(layer low mid high)\n")
        for layer, links in {"low": "", "mid": "LINKS low", "high": "LINKS low  # not mid\n EXTERNAL x"}.items():
            self.write(f"src/{layer}/CMakeLists.txt", f"dy_layer({layer} {links})\n")
            self.write(f"src/{layer}/a.h", "#include <vector>\n")
        self.write("include/dyadic/a.h", '#include <vector>\n#include "dyadic/b.h"\n')

    def expect(self, *lines):
        status, text = run("check_layers.py", self.root)
        self.assertEqual(status, 1 if lines else 0, text)
        self.assertEqual(text.splitlines()[:-1], list(lines))

    def test_clean(self):
        self.write("src/mid/a.cpp", '#include "mid/a.h"\n#include "low/a.h"\n#include "dyadic/a.h"\n')
        self.expect()

    def test_upward_and_unlinked(self):
        self.write("src/low/a.cpp", '\n#include "mid/a.h"\n')
        self.write("src/high/a.cpp", '#  include "mid/a.h"\n')
        self.expect('src/high/a.cpp:1: high includes "mid/a.h", and mid is not among the LINKS of src/high',
                    'src/low/a.cpp:2: low includes "mid/a.h", and mid is above it')

    def test_not_rooted(self):
        self.write("src/low/a.cpp", '#include "a.h"\n#include "generated_list.h"\n')
        self.expect('src/low/a.cpp:1: "a.h" does not begin with a layer\'s folder or dyadic/')

    def test_folders(self):
        self.write("src/stray/a.cpp", "")
        self.write("src/mid/CMakeLists.txt", "")
        self.expect("src/mid: a folder with sources but without dy_layer(mid ...) in its CMakeLists.txt",
                    "src/stray: a folder with sources that src/CMakeLists.txt does not list as a layer")

    def test_links(self):
        self.write("src/low/CMakeLists.txt", "dy_layer(low LINKS high other)\n")
        self.expect("src/low/CMakeLists.txt: low LINKS high, which is not below it",
                    "src/low/CMakeLists.txt: LINKS other, which is no layer")

    def test_public_headers(self):
        self.write("include/dyadic/b.h", '#include <iostream>\n#include <fmt/format.h>\n#include "low/a.h"\n')
        self.expect("include/dyadic/b.h:1: a public header includes <iostream>, which is slow to compile",
                    "include/dyadic/b.h:2: a public header includes <fmt/format.h>, which is not the standard library's",
                    'include/dyadic/b.h:3: a public header includes "low/a.h", which is not installed')


class Symbols(Folder):
    def compile(self, source):
        commands = []
        for isa in ("sse4", "avx2", "avx512"):
            output = f"dy_x_{isa}.dir/a.o"
            self.write(f"dy_x_{isa}.dir/a.cpp", source)
            command = f"{COMPILER} -std=c++20 -DDY_ISA={isa} -c dy_x_{isa}.dir/a.cpp -o {output}"
            subprocess.run(command.split(), cwd=self.root, check=True)
            commands.append({"command": command})
        self.write("compile_commands.json", json.dumps(commands))
        return run("check_isa_symbols.py", self.root)

    def test_own_template(self):
        status, text = self.compile("namespace dyadic::DY_ISA { template <class T> T f(T x) { return x + 1; } template int f(int); }")
        self.assertEqual((status, text), (0, "isa symbols: none shared (objects: sse4 1, avx2 1, avx512 1)\n"))

    def test_shared_inline_function(self):
        status, text = self.compile("inline int shared(int x) { return x + 1; }\n"
                                    "namespace dyadic::DY_ISA { int f(int x) { return shared(x); } }")
        self.assertEqual(status, 1)
        for isa in ("sse4", "avx2", "avx512"):
            self.assertIn(f"dy_x_{isa}.dir/a.o: shared(int)\n", text)

    def test_mmx(self):
        source = 'namespace dyadic::DY_ISA { void f() { asm volatile("movq %mm0, %mm1"); } }'
        self.compile(source)
        self.write("bin/dyadic", "")
        subprocess.run([*COMPILER.split(), "-shared", "dy_x_sse4.dir/a.o", "-o", "bin/dyadic"], cwd=self.root, check=True)
        status, text = run("check_isa_symbols.py", self.root)
        self.assertEqual((status, text), (1, "dyadic: dyadic::sse4::f() uses MMX registers; compile it with -mno-mmx\n"))

    def test_nothing_built(self):
        self.write("compile_commands.json", "[]")
        status, text = run("check_isa_symbols.py", self.root)
        self.assertEqual(status, 1)
        self.assertIn("build first", text)


if __name__ == "__main__":
    unittest.main()
