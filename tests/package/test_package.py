"""The package as a whole: its public names, its weight, and the direction of its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import markovdro
from markovdro import errors

ROOT = Path(__file__).parents[2]

PUBLIC = [
    "Assortment",
    "BlackBoxDecisions",
    "ConvexDecisions",
    "Decision",
    "Estimate",
    "FiniteDecisions",
    "GhostTransition",
    "LinearDecisions",
    "MarkovDROError",
    "MarkovDROWarning",
    "MissingExtraError",
    "Newsvendor",
    "NoSmoothing",
    "Progress",
    "Proof",
    "PseudoCounts",
    "StationaryBounds",
    "Status",
    "TransitionCounts",
    "Wasserstein",
    "WorstCase",
    "WorstCaseBatch",
    "ZeroPerturbation",
    "conditional_entropy",
    "count_transitions",
    "estimate",
    "prescribe",
    "relative_values",
    "simulate",
    "stationary_bounds",
    "stationary_law",
    "worst_case",
    "worst_case_batch",
    "worst_case_path",
]


def test_the_public_names_are_these() -> None:
    assert markovdro.__all__ == PUBLIC
    assert sorted(PUBLIC) == PUBLIC
    assert all(getattr(markovdro, name).__doc__ for name in PUBLIC)


def test_the_tree_of_errors() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        base = errors.MarkovDROWarning if name.endswith("Warning") else errors.MarkovDROError
        assert issubclass(kind, base)
        assert name in str(errors.__doc__)
    assert issubclass(errors.InputError, ValueError)


def test_import_loads_neither_the_compiler_nor_any_extra() -> None:
    heavy = ["numba", "llvmlite", "scipy", "highspy", "cvxpy", "pandas", "polars", "casadi"]
    code = f"import sys, markovdro; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_imports_go_one_way() -> None:
    pytest.importorskip("importlinter")
    found = subprocess.run(  # noqa: S603
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_every_example_runs(example: Path) -> None:
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", example], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip()


def test_a_changed_kernel_is_compiled_again_in_every_file(tmp_path: Path) -> None:
    """The stamp in the names of cached kernels covers all of their sources."""
    from markovdro import _compiled

    package = tmp_path / "markovdro"
    package.mkdir()
    kernel = package / "kernel.py"
    other = package / "other.py"
    (package / "_compiled.py").write_text("# the decorator")
    kernel.write_text("from markovdro._compiled import compiled\n")
    other.write_text("nothing compiled\n")
    before = _compiled.source_stamp(package)
    other.write_text("still nothing compiled\n")
    assert _compiled.source_stamp(package) == before
    kernel.write_text("from markovdro._compiled import compiled  # changed\n")
    assert _compiled.source_stamp(package) != before
