"""`driftway solve`: solve one transport problem, given by NumPy files."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from driftway import Problem, Solution, solve
from driftway.cli.failures import UserError, as_user_error
from driftway.cli.options import Debug
from driftway.cli.terminal import on_terminal, print_json, print_message, print_result
from driftway.files import read_content
from driftway.files.atomic import replacing
from driftway.files.npz_archive import array_in

Masses = Annotated[
    Path | None, typer.Option(help="Masses: a vector in a .npy file. By default all equal.", metavar="FILE")
]


def solve_cost(
    cost: Annotated[Path, typer.Argument(help="The cost: a matrix in a .npy file.", metavar="COST")],
    epsilon: Annotated[
        float, typer.Option(help="The strength ε of the entropy, in units of the cost; 0 for none.", show_default=False)
    ],
    a: Masses = None,
    b: Masses = None,
    tol: Annotated[float, typer.Option(help="The tolerance for gap and marginal error.")] = 1e-6,
    max_iter: Annotated[int, typer.Option(help="The maximal number of iterations.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The output: the plan in a .npy file, or plan, potentials and value in a .npz file.", metavar="FILE"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Solve min ⟨γ, C⟩ + ε H(γ) over the couplings γ of a and b, with a certified bound on the error."""
    if out is not None and out.suffix not in (".npy", ".npz"):
        raise UserError(f"--out must end in .npy or .npz, got {out}")
    if out is not None and not out.resolve().parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.resolve().parent}")
    matrix, first, second = _array(cost), None if a is None else _array(a), None if b is None else _array(b)
    if matrix.ndim != 2:
        raise UserError(f"{cost}: the cost must be a matrix, got shape {matrix.shape}")
    with as_user_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a failure to converge is printed below
        problem = Problem(matrix, first, second, epsilon=epsilon)
        began = time.perf_counter()
        solution = solve(problem, tol=tol, max_iter=max_iter, progress=on_terminal())
    seconds = time.perf_counter() - began
    if out is not None:
        _write(out, solution)
    _tell(solution, seconds, out, as_json=json)
    return 0 if solution.converged else 1


def _array(path: Path) -> npt.NDArray[Any]:
    with as_user_error():
        content = read_content(path)
    if content.startswith(b"PK"):
        raise UserError(f"{path}: must be a .npy file with one array, got an archive")
    try:
        return array_in(content)
    except ValueError as error:
        raise UserError(f"{path}: not a .npy file of numbers ({error})") from error


def _write(path: Path, solution: Solution) -> None:
    plan = solution.plan.dense()
    with replacing(path) as part, part.open("wb") as file:
        if path.suffix == ".npy":
            np.save(file, plan)
        else:
            f, g = solution.potentials
            np.savez(file, plan=plan, f=f, g=g, value=solution.value, lower_bound=solution.lower_bound)


def _tell(solution: Solution, seconds: float, out: Path | None, *, as_json: bool) -> None:
    values = {
        "value": solution.value,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "marginal_error": solution.marginal_error,
        "converged": solution.converged,
        "iterations": solution.n_iter,
        "seconds": round(seconds, 3),
        "message": solution.message,
        "out": None if out is None else str(out),
    }
    if as_json:
        print_json(values)
    else:
        for name, value in values.items():
            if value is not None:
                print_result(
                    f"{name.replace('_', ' '):<15} {value:.12g}" if isinstance(value, float) else f"{name:<15} {value}"
                )
    if not solution.converged:
        print_message(f"driftway: not converged: {solution.message}")
