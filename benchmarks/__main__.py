"""``python -m benchmarks [--quick]`` writes ``benchmarks/results.md``."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.limits import GROUPS
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.rivals import RIVALS

RESULTS = Path(__file__).with_name("results.md")
RADII = (0.01, 0.1, 1.0)
TOLERANCE = 1e-6
TIME_LIMIT = 60.0

# The largest chain on which each rival can be expected to finish within the time limit.
LARGEST = {
    "markovdro": 2000,
    "markovdro, one start": 2000,
    "paper (Algorithms 1, 2)": 100,
    "IPOPT, exact derivatives": 200,
    "trust-constr, gradient": 20,
    "trust-constr, differences": 10,
}
# The paper's method is asked for the gap that the paper used, not for ours.
TOLERANCES = {"paper (Algorithms 1, 2)": 1e-3}


def machine() -> str:
    processor = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = [x.split(":")[1].strip() for x in cpu.read_text().splitlines() if "model name" in x]
        processor = f"{len(names)} × {names[0]}" if names else processor
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "scipy", "numba", "casadi"))
    return f"{processor}; Python {platform.python_version()}, {packages}"


def cell(problem: Problem, radius: float, rival: str) -> str:
    command = [sys.executable, "-m", "benchmarks.cell", problem.name, str(radius), rival]
    command += [str(TOLERANCES.get(rival, TOLERANCE)), str(TIME_LIMIT)]
    head = f"| {problem.name} | {radius:g} | {rival} |"
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=3 * TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"{head} over {3 * TIME_LIMIT:.0f} | | | | killed |"
    except subprocess.CalledProcessError as failure:
        return f"{head} | | | | failed: {failure.stderr.strip().splitlines()[-1]} |"
    report = json.loads(found.stdout)
    shift = report["value"] - report["nominal"]
    return (
        f"{head} {report['seconds']:.3g} | {report['value']:.6f} | {shift:.4f} | "
        f"{report['gap']:.0e} | {report['peak']:.0f} | {report['status']} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="chains of at most 50 states only")
    quick = parser.parse_args().quick
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench` on " + machine() + ".",
        "",
        "Times depend on the machine; the ratios of the first table are within one run. In the "
        "second, every rival starts from the estimated chain, with a tolerance of "
        f"{TOLERANCE:g} of the loss range (the paper's method: 1e-3) and a limit of "
        f"{TIME_LIMIT:.0f} s. The value is that of the chain returned, pulled into the ball; the "
        "shift is its distance from the estimated value; the gap is the Frank-Wolfe gap there by "
        "the exact oracle, as a fraction of the loss range. It says that a chain is stationary, "
        "not that nothing worse exists: compare the shifts.",
        "",
    ]
    lines += ["| figure | measured | limit | met |", "| --- | --- | --- | --- |"]
    for group in () if quick else GROUPS:
        for limit in group():
            lines.append(
                f"| {limit.claim} | {limit.measured} | {limit.limit} | "
                f"{'yes' if limit.met else 'NO'} |"
            )
            sys.stdout.write(lines[-1] + "\n")
    lines += [
        "",
        "| problem | r | method | seconds | value | shift | gap | peak MB | how it ended |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for problem in PROBLEMS.values():
        if quick and problem.states > 50:
            continue
        for radius in RADII:
            for rival in RIVALS:
                zeros = not problem.positive and not rival.startswith("markovdro")
                if problem.states > LARGEST[rival] or zeros:
                    continue
                lines.append(cell(problem, radius, rival))
                sys.stdout.write(lines[-1] + "\n")
                sys.stdout.flush()
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
