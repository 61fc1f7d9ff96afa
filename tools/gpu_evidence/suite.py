"""Tests of the packed dyadic_tests in many processes at once. What brings a process down, or the device's context with it, is one
finding; the tests after it run in a new process.
"""
import os
import re
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from context import ending, stop

LINE = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:,.*)?(?: \(\d+ ms\))?$")
# After these every call of the process fails.
STICKY = re.compile(r"illegal|misaligned|launch failure|unspecified|a kernel failed|works any more|uncorrectable", re.IGNORECASE)
SILENCE = 60  # seconds without a line: the test hangs
CHARACTERS = 1500  # of a failure's text that are kept


def names_of(context, pattern):
    """All tests whose name fits."""
    code, out, _ = context.run([context.program("dyadic_tests"), "--gtest_list_tests", f"--gtest_filter={pattern}"],
                               env=context.environment(DYADIC_ISA="avx2"))
    suite, found = "", []
    for line in out.splitlines() if code == 0 else ():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            found.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return found


class Suite:
    """Outcomes by test: passed, skipped, failed or crashed, with the text of what is neither of the first two."""

    def __init__(self, context, wrapper=()):
        self.context, self.wrapper = context, list(wrapper)
        self.outcomes, self.texts, self.seconds = {}, {}, {}
        self.end = time.monotonic() + context.left() - 5

    def start(self, names):
        with tempfile.NamedTemporaryFile("w", suffix=".flags", delete=False, dir=self.context.folder) as flags:
            flags.write(f"--gtest_filter={':'.join(names)}\n--gtest_color=no\n")
        # Sums of the host are AVX2's, whose bits are the device's; the processes share the cores.
        env = self.context.environment(DYADIC_ISA="avx2", OMP_NUM_THREADS=1)
        return subprocess.Popen([*self.wrapper, self.context.program("dyadic_tests"), f"--gtest_flagfile={flags.name}"], env=env, text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run_process(self, names):
        """Runs tests until one breaks the process; that one's name, or None when all have run."""
        process, running, text, spoken, why = self.start(names), None, [], [time.monotonic()], []
        began = time.monotonic()
        done = threading.Event()

        def watch():
            while not done.wait(1):
                now = time.monotonic()
                if now > self.end or now - spoken[0] > SILENCE:
                    why.append("hangs" if now <= self.end else "")
                    return stop(process)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        for line in process.stdout:
            spoken[0] = time.monotonic()
            match = LINE.match(line.rstrip())
            if not match or (match[1] != "RUN" and match[2] != running):
                text.append(line)
                continue
            if match[1] == "RUN":
                running, text, began = match[2], [], time.monotonic()
                continue
            self.outcomes[running] = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}[match[1]]
            self.seconds[running] = time.monotonic() - began
            if match[1] == "FAILED":
                self.texts[running] = "".join(text)[-CHARACTERS:]
                if STICKY.search(self.texts[running]):
                    stop(process)
                    break
            running = None
        done.set()
        watcher.join()
        code = process.wait()
        if running and why != [""]:
            self.outcomes[running] = "crashed"
            self.texts[running] = "".join([*text, *(why or [f"it {ending(code)}"])])[-CHARACTERS:]

    def run_chunk(self, names):
        while names and time.monotonic() < self.end:
            self.run_process(names)
            left = [name for name in names if name not in self.outcomes]
            if len(left) == len(names) and time.monotonic() < self.end:  # nothing has run at all
                self.texts.setdefault(names[0], "the process ran no test")
                self.outcomes[names[0]] = "crashed"
                left = names[1:]
            names = left

    def run(self, names, workers=None):
        workers = workers or len(os.sched_getaffinity(0))
        count = min(len(names), 4 * workers) or 1
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(self.run_chunk, [names[i::count] for i in range(count)]))
        return self.report(names)

    def report(self, names):
        counts = {k: sum(v == k for v in self.outcomes.values()) for k in ("passed", "skipped", "failed", "crashed")}
        bad = sorted(name for name, outcome in self.outcomes.items() if outcome in ("failed", "crashed"))
        for name in bad[:400]:
            self.context.note(f"{self.outcomes[name]}: {name}\n{self.texts.get(name, '')}")
        by_op = {}
        for name in bad:
            op = name.split(".", 1)[-1].split("/")[0] if name.startswith("op_suite") else name
            by_op[op] = by_op.get(op, 0) + 1
        slowest = sorted(self.seconds, key=self.seconds.get)[-10:]
        not_run = len(names) - len(self.outcomes)
        return {"passed": not bad and not not_run and counts["passed"] > 0, "tests": len(names), "not_run": not_run, "counts": counts,
                "bad_by_op": dict(sorted(by_op.items(), key=lambda item: -item[1])), "bad": bad[:300],
                "slowest": {name: round(self.seconds[name], 2) for name in reversed(slowest)},
                "summary": f"{counts['passed']} passed, {counts['failed']} failed, {counts['crashed']} crashed, "
                           f"{counts['skipped']} skipped, {not_run} not run"}
