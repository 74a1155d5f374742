"""A progress bar that fills as the gap falls."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Self

from driftway.engines.engine import Engine
from driftway.problem.solution import Iteration


class Progress:
    """Shows the decades of the gap that are done, from where it began down to the tolerance; silent if off."""

    def __init__(self, show: bool, tol: float, engine: Engine) -> None:
        self._tol, self._engine, self._said = max(tol, 1e-300), engine, ""
        self._bar: Any = None
        self._began = math.nan
        if show:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                raise ImportError("progress=True needs tqdm: pip install 'driftway[progress]'") from None
            if notice := engine.notice():
                tqdm.write(notice)
            self._bar = tqdm(total=1.0, bar_format="{l_bar}{bar}| {elapsed} {postfix}")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._engine.watch = self.sweep
        return self

    def sweep(self, share: float) -> None:
        """Shows how far a long sweep over the plan has come."""
        self._bar.set_postfix_str(f"{self._said}sweep {share:.0%}")

    def update(self, iteration: Iteration) -> None:
        if self._bar is None:
            return
        worst = max(iteration.gap, iteration.marginal_error)
        if math.isnan(self._began) and math.isfinite(worst):
            self._began = max(worst, 10 * self._tol)
        if worst > 0 and not math.isnan(self._began):
            done = math.log(self._began / max(worst, self._tol)) / math.log(self._began / self._tol)
            self._bar.n = min(max(done, self._bar.n), 1.0)
        self._said = f"gap {iteration.gap:.1e}, marginals {iteration.marginal_error:.1e}, "
        self._bar.set_postfix_str(self._said.removesuffix(", "))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
            self._engine.watch = None
