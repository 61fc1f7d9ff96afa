"""What pieces of evidence share: the packed programs, how they are run, the log."""
import glob
import importlib.util
import json
import os
import signal
import subprocess
import tempfile
import threading
import time


class Skipped(Exception):
    """A piece that this machine has no means for."""


class Failed(Exception):
    """A program that did not do what it was asked for."""


def cuda_libraries():
    """Folders in which cuBLASLt and its like may lie: the toolkit's, and those that came with PyTorch."""
    found = [f for f in ("/usr/local/cuda/lib64",) if os.path.isdir(f)]
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec else ():
        found += sorted(glob.glob(f"{place}/*/lib"))
    return found


def ending(code):
    """How a program ended that should not have."""
    if code is None:
        return "took too long"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def stop(process):
    """Ends a process and what it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Context:
    def __init__(self, package, log):
        self.package = package
        self.plugin = package / "lib" / json.loads((package / "info.json").read_text())["plugin"]
        self.simulated = "cudasim" in self.plugin.name
        self._folder = tempfile.TemporaryDirectory(prefix="gpu_evidence_")
        self.folder = self._folder.name
        self._libraries = [str(package / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *cuda_libraries()]
        self._log = log.open("w")
        self._lock = threading.Lock()
        self._name, self._end = "", float("inf")
        self.measured = {}  # what bench() said of a group, for the pieces after it
        # The system's own C++ runtime where it is new enough, since tools of the system have to live with ours.
        if self.run([self.program("dyadic"), "--version"], 60)[0] != 0:
            self._libraries.insert(0, str(package / "lib" / "runtime"))

    def begin(self, name, seconds):
        self._name, self._end = name, time.monotonic() + seconds
        self.note(f"begins; it has {seconds} s")

    def left(self, most=float("inf")):
        """Seconds that the piece may still take."""
        return max(1.0, min(most, self._end - time.monotonic()))

    def note(self, text):
        with self._lock:
            for line in str(text).splitlines() or [""]:
                self._log.write(f"[{self._name}] {line}\n")
            self._log.flush()

    def environment(self, **more):
        """For our programs alone: other ones would find our libraries in the place of theirs."""
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(self._libraries),
                "DYADIC_CUDA": str(self.plugin), **{k: str(v) for k, v in more.items()}}

    def program(self, name):
        return str(self.package / "bin" / name)

    def run(self, command, seconds=float("inf"), env=None, ok=(0,)):
        """Its exit code and what it wrote to stdout; None instead of a code: it was ended because it took too long."""
        seconds = self.left(seconds)
        self.note(f"$ {' '.join(map(str, command))}")
        process = subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=env or self.environment(), start_new_session=True, cwd=self.folder)
        try:
            out, err = process.communicate(timeout=seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            stop(process)
            out, err = process.communicate()
            code = None
        if err.strip():
            self.note(err[-20_000:])
        if code not in ok:
            self.note(f"it {ending(code)}")
            self.note(out[-20_000:])
        return code, out, err

    def json_of(self, command, seconds=float("inf"), ok=(0,), env=None):
        """The JSON document that a program writes."""
        code, out, err = self.run(command, seconds, env=env, ok=ok)
        if code not in ok:
            last = err.strip().splitlines()[-1:]
            raise Failed(": ".join([f"{command[0].rsplit('/', 1)[-1]} {ending(code)}", *last]))
        return json.loads(out)

    def bench(self, *words, seconds=float("inf")):
        """What `dyadic bench cuda` says; rows of cases that failed have an error."""
        return self.json_of([self.program("dyadic"), "bench", "cuda", "--json", *words], seconds, ok=(0, 1))
