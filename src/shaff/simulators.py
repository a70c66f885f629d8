"""`explain_simulator`: Shapley effects of a function whose inputs have known distributions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from shaff._util.frames import BACKENDS, make_frame
from shaff._util.numbers import as_floats
from shaff._util.seeds import draw_seed
from shaff._util.typing import FloatArray, RandomState, is_whole
from shaff._util.words import counted
from shaff.data.points import Columns, draw_points
from shaff.data.problem import RawData
from shaff.data.remarks import SIMULATED, Remark
from shaff.data.rows import n_given_rows
from shaff.data.table import MIN_ROWS, collected, take_rows
from shaff.errors import InputError
from shaff.estimator import ShapleyEffects
from shaff.fitting.progress import progress_bar
from shaff.fitting.provenance import changed_settings
from shaff.fitting.runs import Simulator, repeats, run_all, takes_names
from shaff.results.base import check_level
from shaff.results.effects import EffectsResult
from shaff.values.labelled import Labelling

# Settings that change no result.
_SILENT = frozenset({"n_jobs", "verbose", "checkpoint"})


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """Runs of a simulator, and the effects of its inputs.

    Parameters
    ----------
    result : EffectsResult
        Shapley effects, first-order and total Sobol indices, with their errors.
    X : frame or array of shape (n_runs, n_inputs)
        The points at which the simulator was run, failed runs included.
    y : float array of shape (n_runs,)
        The outputs, NaN where a run failed.
    failed : dict of int to str
        Rows of the runs that failed, with the reason.
    repeats : bool or None, default=None
        Whether a second call at one point gave the same output; None if that was not checked.
    n_labelled : int, default=0
        Number of further points that the learner has labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff import Simulation
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> Simulation.from_samples(X, X[:, 0] + X[:, 1] / 2, estimator="smooth", random_state=0)
    Simulation(200 runs, 0 failed, explained variance 1.000)
    """

    result: EffectsResult
    X: Any
    y: FloatArray
    failed: Mapping[int, str]
    repeats: bool | None = None
    n_labelled: int = 0

    @classmethod
    def from_samples(cls, X: Any, y: Any, **settings: Any) -> Simulation:
        """Explain runs that were made elsewhere.

        It is `shapley_effects` of these rows, but runs without an output are left out, and what is
        short of 1 in the explained variance is said to be the learner's.

        Parameters
        ----------
        X : array or frame of shape (n_runs, n_inputs)
            The points, drawn from the distribution of the inputs.
        y : array of shape (n_runs,)
            The outputs, NaN where a run failed.
        **settings
            Parameters of `ShapleyEffects`.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff import Simulation
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> y = np.where(X[:, 0] < 0.1, np.nan, X[:, 1])
        >>> len(Simulation.from_samples(X, y, estimator="smooth", random_state=0).failed)
        20
        """
        X, y = collected(X), _outputs(y)
        if n_given_rows(X) != len(y):
            runs, points = counted(len(y), "output"), counted(n_given_rows(X), "point")
            raise InputError(f"y has {runs}, X has {points}.")
        failed = {int(row): f"returned {y[row]}" for row in np.flatnonzero(~np.isfinite(y))}
        estimator = ShapleyEffects(**settings)
        call = _call(estimator, "Simulation.from_samples(X, y")
        return _explained(estimator, X, y, failed, None, call)

    def more_runs(self, precision: float = 0.01, level: float = 0.95) -> int:
        """Return how many more runs narrow all intervals to ± ``precision``, in two digits.

        Intervals are taken to shrink with the square root of the number of runs. The part that
        allows for what the learner has not learnt yet often shrinks faster, so that the answer is
        on the safe side. The error of the points that the learner has labelled only shrinks with
        their number.

        Parameters
        ----------
        precision : float, default=0.01
            Half the width of the intervals that are wanted.
        level : float, default=0.95
            Level of these intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff import Simulation
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> runs = Simulation.from_samples(X, X.sum(axis=1), estimator="smooth", random_state=0)
        >>> runs.more_runs(0.5), runs.more_runs(0.01) > 1000
        (0, True)
        """
        check_level(level)
        if not (isinstance(precision, int | float | np.number) and precision > 0):
            raise InputError(f"precision={precision!r} must be positive.")
        total, by_source = self.result.standard_errors, self.result.errors_by_source
        if total is None or by_source is None:
            raise InputError("This result has no standard errors.")
        wanted = (precision / float(ndtri((1 + level) / 2))) ** 2
        stays = by_source["algorithm"] ** 2 * (self.n_labelled > 0)
        if stays.max() >= wanted:
            raise InputError(
                f"More runs alone do not narrow the intervals to ± {precision}: the points that "
                f"the learner has labelled are too few (n_labelled={self.n_labelled})."
            )
        ratio = float(((total**2 - stays) / (wanted - stays)).max())
        # The intervals may be wider: they allow for what the learner has not learnt.
        low, high = self.result.confidence_interval(level)
        as_wide = float((((high - low) / 2).max() / precision) ** 2)
        return _rounded_up(len(self.y) * (max(ratio, as_wide) - 1))

    def summary(self) -> str:
        """Return the table of the effects as text; see `EffectsResult.summary`."""
        return self.result.summary()

    def __repr__(self) -> str:
        return (
            f"Simulation({counted(len(self.y), 'run')}, {len(self.failed)} failed, "
            f"explained variance {self.result.explained_variance:.3f})"
        )


def explain_simulator(
    f: Callable[..., Any],
    inputs: Any,
    *,
    correlation: Any = None,
    n: int = 1000,
    points: Literal["sobol", "latin_hypercube"] = "sobol",
    vectorised: bool = False,
    n_labelled: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: int = 0,
    **settings: Any,
) -> Simulation:
    """Run a function at points drawn from its inputs, and explain the variance of its output.

    Parameters
    ----------
    f : callable
        The simulator. It has one parameter for each input, by name, or one parameter that takes
        them all as an array, in order; it returns one number. A run that raises an error, or does
        not return a finite number, has failed: it is left out, and the reason is kept.
    inputs : dict or callable
        The distribution of each input by name: one of ``scipy.stats`` (or anything else that has
        quantiles, as ``ppf`` or ``icdf``), or a list of values to draw from, numbers or text. Or a
        function ``inputs(n, rng)`` that draws all of them together, and returns a frame, a dict or
        an array of n rows.
    correlation : matrix, frame, dict, copula, callable or None, default=None
        Rank correlations (Spearman's) of the inputs, as a matrix in their order, a frame with their
        names, or a dict such as ``{("a", "b"): 0.5}``; the inputs have a Gaussian copula then. Or a
        copula with ``rvs(n)``, as those of statsmodels, or a function that turns independent
        uniform points of shape (n, n_inputs) into dependent ones. None means independent inputs.
    n : int, default=1000
        Number of runs.
    points : {"sobol", "latin_hypercube"}, default="sobol"
        Scrambled Sobol' points, or a Latin hypercube. The first points of a longer run are those of
        a shorter one with "sobol" only.
    vectorised : bool, default=False
        Whether f takes many points at once: an array for each input, or one array of shape
        (n_points, n_inputs). It is called with 1024 points at a time.
    n_labelled : int or None, default=None
        Number of further points that the learner labels in place of f, drawn like the others: the
        effects of its labels are more precise, and the errors of the labels are measured on the
        runs. None means 8192 points, if the learner explains 0.9 of the variance of held-out runs,
        and none otherwise; 0 means none. There are none either if runs have failed, or with a model
        of your own as ``estimator``.
    n_jobs : int or None, default=None
        Number of processes in which f runs, and of threads of the learner; -1 means all cores.
        Inside ``joblib.parallel_config`` f runs where that says. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the points and of the learner. The same integer gives the same bits.
    checkpoint : path or None, default=None
        File in which outputs are saved as they come. A call that was stopped continues from there;
        so does one with a larger n. Failed runs are tried again. It needs an integer
        ``random_state``.
    verbose : int, default=0
        With 1, progress bars are shown.
    **settings
        Other parameters of `ShapleyEffects`.

    Returns
    -------
    Simulation
        ``result`` has the effects; ``X``, ``y`` and ``failed`` are the runs.

    Examples
    --------
    >>> from scipy.stats import norm, uniform
    >>> from shaff import explain_simulator
    >>> def area(width, height):
    ...     return width * height
    >>> inputs = {"width": uniform(1, 2), "height": norm(5, 0.5)}
    >>> simulation = explain_simulator(
    ...     area, inputs, correlation={("width", "height"): 0.5}, n=256, random_state=0)
    >>> simulation.result.names[simulation.result.effects.argmax()]
    'width'
    """
    if checkpoint is not None and not is_whole(random_state):
        raise InputError("checkpoint needs an integer random_state, or the points would differ.")
    if is_whole(n) and n < MIN_ROWS:
        raise InputError(f"n={n} runs are too few: shaff needs at least {MIN_ROWS}.")
    if n_labelled is not None and not (is_whole(n_labelled) and n_labelled >= 0):
        raise InputError(f"n_labelled={n_labelled!r} is no number of points.")
    seed = int(random_state) if is_whole(random_state) else draw_seed(random_state)
    # Unknown settings, and functions of other parameters, are refused before any run.
    estimator = ShapleyEffects(n_jobs=n_jobs, random_state=seed, verbose=verbose, **settings)
    simulator = Simulator(f, draw_points(inputs, correlation, n, points, seed), bool(vectorised))
    takes_names(f, list(simulator.columns))
    with progress_bar(verbose, "Running") as progress:
        runs = run_all(simulator, n_jobs, checkpoint, progress.update)
    failed = {row: reason for row, reason in enumerate(runs.reasons) if reason}
    _check_some(failed, n)
    call = _call(estimator, _start_of_call(correlation, n, points, n_labelled))

    def draw(n_points: int, seed: int) -> Any:
        return _frame(draw_points(inputs, correlation, n_points, points, seed))

    X, repeated = _frame(simulator.columns), repeats(simulator, runs.y)
    labelling = None if n_labelled == 0 else Labelling(draw, n_labelled, repeated)
    return _explained(estimator, X, runs.y, failed, repeated, call, labelling)


def _explained(
    estimator: ShapleyEffects,
    X: Any,
    y: FloatArray,
    failed: Mapping[int, str],
    repeated: bool | None,
    call: str,
    labelling: Labelling | None = None,
) -> Simulation:
    _check_some(failed, len(y))
    there = np.flatnonzero(np.isfinite(y))
    rows = X if not failed else take_rows(X, there)
    remarks = _remarks(failed, len(y), repeated)
    # Points whose runs fail are no part of the question, and which these are is not known.
    further = None if failed else labelling
    fitted = estimator._fit(RawData(rows, y[there]), remarks, call, further)
    return Simulation(fitted.result_, X, y, failed, repeated, _n_labelled(fitted))


def _n_labelled(fitted: ShapleyEffects) -> int:
    game = getattr(fitted._fitted_game, "game", None)  # a constant output has none
    return 0 if game is None else game.facts.n_labelled or 0


def _check_some(failed: Mapping[int, str], n: int) -> None:
    """Refuse runs of which too few are left."""
    if failed and n - len(failed) < MIN_ROWS:
        first = next(iter(failed.values()))
        raise InputError(f"{len(failed)} of {counted(n, 'run')} failed; the first: {first}.")


def _remarks(failed: Mapping[int, str], n: int, repeated: bool | None) -> tuple[Remark, ...]:
    """What a reader must know about the runs."""
    short = Remark(SIMULATED[repeated is False])
    if not failed:
        return (short,)
    details = {"n_failed": len(failed), "n": n, "reason": next(iter(failed.values()))}
    return (Remark("failed runs", details=details), short)


def _rounded_up(number: float) -> int:
    """Two digits of an estimate, which has no more; 0 if it is negative."""
    if number <= 0:
        return 0
    unit = int(10 ** max(0, math.floor(math.log10(number)) - 1))
    return math.ceil(number / unit) * unit


def _outputs(y: Any) -> FloatArray:
    try:
        outputs = as_floats(y, "y")
    except (TypeError, ValueError):  # an InputError, too
        raise InputError("y must hold one number for each run, NaN where it failed.") from None
    if outputs.ndim != 1:
        raise InputError(f"y has shape {outputs.shape}: one number for each run is needed.")
    return outputs


def _frame(columns: Columns) -> Any:
    """The points as a frame, which has names and text."""
    installed = [backend for backend in BACKENDS if find_spec(backend) is not None]
    if not installed:
        raise InputError("explain_simulator names its inputs in a frame: pip install pandas.")
    return make_frame(columns, installed[0])


def _start_of_call(correlation: Any, n: int, points: str, n_labelled: int | None) -> str:
    given = ["f", "inputs", *["correlation=correlation"] * (correlation is not None), f"n={n}"]
    given += [f"points={points!r}"] * (points != "sobol")
    given += [f"n_labelled={n_labelled}"] * (n_labelled is not None)
    return f"explain_simulator({', '.join(given)}"


def _call(estimator: ShapleyEffects, start: str) -> str:
    return f"{', '.join([start, *changed_settings(estimator, _SILENT)])})"
