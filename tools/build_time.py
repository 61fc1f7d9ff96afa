#!/usr/bin/env python3
"""Where the time of a build went: the ten slowest steps and the total, from Ninja's log. usage: build_time.py BUILD_FOLDER"""
import sys
from pathlib import Path


def steps(log):
    """The last run of each step, as (milliseconds, begin, end, name). One command with several outputs counts once."""
    last = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, command = line.split("\t")
        last[output] = (int(begin), int(end), command)
    once = {(command, begin, end): output for output, (begin, end, command) in sorted(last.items(), reverse=True)}
    return sorted(((end - begin, begin, end, output) for (_, begin, end), output in once.items()), reverse=True)


def main():
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / ".ninja_log").exists():
        sys.exit("usage: build_time.py BUILD_FOLDER (one that Ninja has built)")
    rows = steps(Path(sys.argv[1]) / ".ninja_log")
    for spent, _, _, output in rows[:10]:
        print(f"{spent / 1000:8.2f} s  {output}")
    if rows:
        print(f"{sum(row[0] for row in rows) / 1000:8.1f} s  of work in {len(rows)} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
