"""Other ways to compute the same worst case, each behind one signature.

``rival(problem, radius, tolerance, time_limit) -> Answer``. The value is in units of the loss.
Every rival starts from the estimated chain P', like the paper's Algorithm 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from markovdro import worst_case
from markovdro.experiments import SyntheticProblem

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a rival found."""

    value: float
    transition: FloatArray
    seconds: float
    status: str


Rival = Callable[[SyntheticProblem, float, float, float], Answer]


def stationary(transition: FloatArray) -> FloatArray:
    """Return the stationary law by least squares: plain numpy, apart from the library's code."""
    size = len(transition)
    system = np.vstack([transition.T - np.eye(size), np.ones(size)])
    law: FloatArray = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return law


def _ours(starts: int, method: str) -> Rival:
    def solve(
        problem: SyntheticProblem, radius: float, tolerance: float, time_limit: float
    ) -> Answer:
        began = time.perf_counter()
        found = worst_case(
            problem.loss,
            problem.estimate,
            radius,
            starts=starts,
            method=method,
            tolerance=tolerance,
            time_limit=time_limit,
        )
        seconds = time.perf_counter() - began
        return Answer(found.value, found.transition, seconds, found.status)

    return solve


def ipopt(
    problem: SyntheticProblem,
    radius: float,
    tolerance: float,
    time_limit: float,
    start: FloatArray | None = None,
) -> Answer:
    """Interior-point method of IPOPT with exact first and second derivatives (casadi).

    Variables are ``y = log P`` and π: maximise π·L subject to ``Σ_j e^{y_ij} = 1``, ``π = πP``,
    ``Σ π = 1`` and the ball, which is linear in y.
    """
    import casadi as ca

    nominal, weights = problem.estimate.transition, problem.estimate.weights
    first = nominal if start is None else start
    size = len(weights)
    span = float(np.ptp(problem.loss))
    scaled = (problem.loss - problem.loss.min()) / span
    y, law = ca.SX.sym("y", size, size), ca.SX.sym("law", size)
    rows = ca.exp(y)
    joint = weights[:, None] * nominal
    ball = float((joint * np.log(np.where(joint > 0, nominal, 1.0))).sum()) - ca.sum1(
        ca.sum2(ca.DM(joint) * y)
    )
    balance = rows.T @ law - law
    constraints = ca.vertcat(ca.sum2(rows) - 1, balance[:-1], ca.sum1(law) - 1, ball)
    solver = ca.nlpsol(
        "worst_case",
        "ipopt",
        {"x": ca.vertcat(ca.vec(y), law), "f": -ca.dot(scaled, law), "g": constraints},
        {
            "print_time": False,
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
            "ipopt.tol": tolerance,
            "ipopt.bound_relax_factor": 0.0,
            "ipopt.max_wall_time": max(time_limit, 1e-3),
            "ipopt.max_iter": 3000,
        },
    )
    lowest = np.zeros(2 * size + 1)
    lowest[-1] = -math.inf
    highest = np.zeros(2 * size + 1)
    highest[-1] = radius
    # Building the expressions and their derivatives takes as long again, and is not counted.
    began = time.perf_counter()
    solution = solver(
        x0=np.concatenate([np.log(first).ravel(order="F"), stationary(first)]),
        lbg=lowest,
        ubg=highest,
        lbx=np.append(np.full(size * size, -700.0), np.zeros(size)),
        ubx=np.append(np.full(size * size, 1e-9), np.ones(size)),
    )
    seconds = time.perf_counter() - began
    point = np.array(solution["x"]).ravel()
    transition = np.exp(point[: size * size]).reshape(size, size, order="F")
    transition /= transition.sum(axis=1, keepdims=True)
    status = str(solver.stats()["return_status"])
    return Answer(float(stationary(transition) @ problem.loss), transition, seconds, status)


def _trust_constr(*, gradient: bool) -> Rival:
    """Interior-point method of scipy: the paper's baselines, with and without exact gradients."""

    def solve(
        problem: SyntheticProblem, radius: float, tolerance: float, time_limit: float
    ) -> Answer:
        nominal, weights = problem.estimate.transition, problem.estimate.weights
        size = len(weights)
        joint = weights[:, None] * nominal
        span = float(np.ptp(problem.loss))
        began = time.perf_counter()

        def objective(p: FloatArray) -> float:
            return float(-(stationary(p.reshape(size, size)) @ problem.loss) / span)

        def slope(p: FloatArray) -> FloatArray:
            matrix = p.reshape(size, size)
            law = stationary(matrix)
            fundamental = np.linalg.inv(np.eye(size) - matrix + law[None, :])
            values = fundamental @ (problem.loss - law @ problem.loss)
            derivative: FloatArray = -np.outer(law, values).ravel() / span
            return derivative

        def distance(p: FloatArray) -> float:
            return float((joint * np.log(nominal / p.reshape(size, size))).sum())

        def distance_slope(p: FloatArray) -> FloatArray:
            derivative: FloatArray = (-joint / p.reshape(size, size)).ravel()
            return derivative

        def distance_curvature(p: FloatArray, multipliers: FloatArray) -> FloatArray:
            return np.diag((multipliers[0] * joint / p.reshape(size, size) ** 2).ravel())

        def stop(_point: FloatArray, _state: Any) -> bool:
            return time.perf_counter() - began > time_limit

        sums = np.kron(np.eye(size), np.ones(size))
        exact: dict[str, Any] = {"jac": slope} if gradient else {"jac": "2-point"}
        found = minimize(
            objective,
            nominal.ravel(),
            method="trust-constr",
            bounds=Bounds(1e-12, 1.0, keep_feasible=True),
            constraints=[
                LinearConstraint(sums, 1.0, 1.0),
                NonlinearConstraint(
                    distance, -math.inf, radius, jac=distance_slope, hess=distance_curvature
                ),
            ],
            callback=stop,
            options={"gtol": tolerance, "xtol": 1e-10, "maxiter": 5000},
            **exact,
        )
        seconds = time.perf_counter() - began
        transition = np.maximum(found.x.reshape(size, size), 0.0)
        transition /= transition.sum(axis=1, keepdims=True)
        value = float(stationary(transition) @ problem.loss)
        return Answer(value, transition, seconds, str(found.message))

    return solve


RIVALS: dict[str, Rival] = {
    "markovdro": _ours(4, "frank-wolfe"),
    "markovdro, one start": _ours(1, "frank-wolfe"),
    "paper (Algorithms 1, 2)": _ours(1, "paper"),
    "IPOPT, exact derivatives": ipopt,
    "trust-constr, gradient": _trust_constr(gradient=True),
    "trust-constr, differences": _trust_constr(gradient=False),
}
