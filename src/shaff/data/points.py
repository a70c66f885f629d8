"""Points at which a simulator is run: inputs of known distributions, made dependent by a copula.

Points that fill the unit cube evenly (scrambled Sobol' points, or a Latin hypercube) go through the
copula, which makes the inputs dependent, and then through the quantiles of each input.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from shaff._util.missing import is_missing
from shaff._util.numbers import unmasked
from shaff._util.typing import FloatArray, is_whole
from shaff._util.words import listed
from shaff.errors import InputError, InputTypeError, UserError, reason_of

Columns = dict[str, npt.NDArray[Any]]
# Quantiles of 0 and 1 may be infinite; scrambled Sobol' points are multiples of this.
EDGE = 2.0**-32
# An eigenvalue that is negative by so little is a rounding of the given correlations, and is set
# to 0; with four digits they may be off by 1e-4 times the number of inputs.
ROUNDING = 1e-3
_CUBES: dict[str, Callable[..., Any]] = {"sobol": qmc.Sobol, "latin_hypercube": qmc.LatinHypercube}


def draw_points(inputs: Any, correlation: Any, n: int, kind: str, seed: int) -> Columns:
    """Return the values of each input at every point, by name.

    Parameters
    ----------
    inputs : dict or callable
        The inputs by name, each a distribution with quantiles or values to draw from; or a function
        ``inputs(n, rng)`` that draws all of them together.
    correlation : matrix, frame, dict of pairs, copula, callable or None
        Rank correlations of the inputs, or another dependence; see `shaff.explain_simulator`.
    n : int
        Number of points.
    kind : {"sobol", "latin_hypercube"}
    seed : int

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from shaff.data.points import draw_points
    >>> points = draw_points({"a": norm(), "b": ["x", "y"]}, None, 4, "sobol", seed=0)
    >>> sorted(points["b"].tolist())
    ['x', 'x', 'y', 'y']
    """
    if not is_whole(n) or n < 2:
        raise InputError(f"n={n!r} is no number of runs: use a whole number of at least 2.")
    rng = np.random.default_rng(seed)
    if isinstance(inputs, Mapping):
        return _known_points(inputs, correlation, uniform_points(n, len(inputs), kind, rng), rng)
    if not callable(inputs):
        raise InputTypeError(
            "inputs must be a dict from names to distributions, or a function of n and a random "
            f"generator that draws them all; got {type(inputs).__name__}."
        )
    if correlation is not None:
        raise InputError("Inputs that a function draws have their dependence: leave correlation.")
    with _as_failure_of("sampler"):
        drawn = inputs(n, rng)
    return _drawn_points(drawn, n)


def uniform_points(n: int, n_inputs: int, kind: str, rng: np.random.Generator) -> FloatArray:
    """Return points that fill the unit cube evenly, shape (n, n_inputs).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.points import uniform_points
    >>> points = uniform_points(4, 1, "sobol", np.random.default_rng(0))
    >>> sorted((4 * points[:, 0]).astype(int).tolist())
    [0, 1, 2, 3]
    """
    if kind not in _CUBES:
        raise InputError(f"points={kind!r} is unknown: use {listed(list(_CUBES))}.")
    if n_inputs == 0:
        raise InputError("inputs has no input.")
    with warnings.catch_warnings():
        # Sobol' points are best in powers of two; any number is as good as random ones at least.
        warnings.filterwarnings("ignore", message="The balance properties")
        cube = _CUBES[kind](n_inputs, rng=rng).random(n)
    return np.asarray(np.clip(cube, EDGE, 1 - EDGE))


def _known_points(
    inputs: Mapping[Any, Any], correlation: Any, cube: FloatArray, rng: np.random.Generator
) -> Columns:
    names = [str(name) for name in inputs]
    if len(set(names)) < len(names):
        raise InputError("inputs has two names that are spelt the same: give them other names.")
    uniform = _dependent(cube, correlation, names, rng)
    given = zip(names, inputs.values(), uniform.T, strict=True)
    return {name: _quantiles(name, what, levels) for name, what, levels in given}


def _drawn_points(drawn: Any, n: int) -> Columns:
    """Columns of whatever the user's sampler returns: a dict, a frame or an array."""
    if hasattr(drawn, "columns") or isinstance(drawn, Mapping):
        names = drawn.columns if hasattr(drawn, "columns") else drawn
        columns = {str(name): np.asarray(unmasked(drawn[name])) for name in names}
    else:
        matrix = np.asarray(unmasked(drawn))
        if matrix.ndim != 2:
            raise InputError(f"The sampler returned shape {matrix.shape}, not (n, n_inputs).")
        columns = {f"x{j}": matrix[:, j] for j in range(matrix.shape[1])}
    if not columns:
        raise InputError("The sampler returned no input.")
    for name, column in columns.items():
        if column.shape != (n,):
            raise InputError(f"The sampler returned shape {column.shape} for {name!r}, not ({n},).")
        _check_known(name, column, "The sampler's values")
    return columns


@contextmanager
def _as_failure_of(what: str) -> Iterator[None]:
    """Say in one sentence why a function of the user's that draws points fails."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"The {what} fails ({reason_of(error)}).") from error


# Margins ------------------------------------------------------------------------------------------


def _quantiles(name: str, what: Any, levels: FloatArray) -> npt.NDArray[Any]:
    """Quantiles of one input: of a distribution, or of a list of values."""
    # scipy's older distributions have `ppf`, its newer ones `icdf`.
    quantile = getattr(what, "ppf", None) or getattr(what, "icdf", None)
    if quantile is None:
        return _values_at(name, what, levels)
    try:
        found = np.asarray(quantile(levels), dtype=float)
    except Exception as error:
        raise InputError(f"The quantiles of input {name!r} cannot be computed: {error}") from error
    if found.shape != levels.shape or not np.isfinite(found).all():
        raise InputError(f"The quantiles of input {name!r} are not all finite numbers.")
    return found


def _values_at(name: str, values: Any, levels: FloatArray) -> npt.NDArray[Any]:
    """Values of a list, each equally likely; text is in the order of the alphabet."""
    if isinstance(values, str) or not hasattr(values, "__len__") or np.ndim(values) != 1:
        raise InputTypeError(
            f"Input {name!r} is neither a distribution with quantiles (ppf or icdf) nor a list of "
            f"values to draw from; got {type(values).__name__}."
        )
    column = np.asarray(unmasked(values))
    if len(column) == 0:
        raise InputError(f"Input {name!r} has no values to draw from.")
    _check_known(name, column, "The values")
    if column.dtype.kind not in "biuf":
        column = column.astype(str)
    return np.asarray(np.sort(column)[(levels * len(column)).astype(int)])


def _check_known(name: str, column: npt.NDArray[Any], whose: str) -> None:
    """Refuse missing and infinite values."""
    is_number = column.dtype.kind in "biuf"
    if not np.isfinite(column).all() if is_number else any(map(is_missing, column.tolist())):
        raise InputError(f"{whose} of input {name!r} hold missing or infinite ones.")


# Dependence ---------------------------------------------------------------------------------------


def _dependent(
    cube: FloatArray, given: Any, names: list[str], rng: np.random.Generator
) -> FloatArray:
    """Uniform margins with the dependence that was asked for."""
    if given is None:
        return cube
    if hasattr(given, "rvs") or callable(given):
        with _as_failure_of("copula"):
            found = _drawn_by(given, len(cube), rng) if hasattr(given, "rvs") else given(cube)
        return _of_copula(found, cube.shape)
    normal = normal_correlation(read_correlation(given, names))
    return np.clip(ndtr(ndtri(cube) @ _root(normal)), EDGE, 1 - EDGE)


def _drawn_by(copula: Any, n: int, rng: np.random.Generator) -> Any:
    """Points of a copula, by the generator if it takes one, under whichever name."""
    known = inspect.signature(copula.rvs).parameters
    name = next((name for name in ("rng", "random_state") if name in known), None)
    return copula.rvs(n, **({} if name is None else {name: rng}))


def _of_copula(drawn: Any, shape: tuple[int, ...]) -> FloatArray:
    try:
        uniform = np.asarray(drawn, dtype=float)
    except (TypeError, ValueError):
        raise InputTypeError("The copula returned something else than numbers.") from None
    if uniform.shape != shape:
        raise InputError(f"The copula returned shape {uniform.shape}, not {shape}.")
    if not ((uniform >= 0) & (uniform <= 1)).all():
        raise InputError("The copula returned numbers outside of 0 to 1.")
    return np.asarray(np.clip(uniform, EDGE, 1 - EDGE))


def read_correlation(given: Any, names: list[str]) -> FloatArray:
    """Return a matrix of correlations in the order of the names, from any of its spellings.

    Examples
    --------
    >>> from shaff.data.points import read_correlation
    >>> read_correlation({("a", "c"): 0.5}, ["a", "b", "c"])[0].tolist()
    [1.0, 0.0, 0.5]
    """
    if isinstance(given, Mapping):
        return _of_pairs(given, names)
    if hasattr(given, "columns"):
        given = _in_order(given, names)
    try:
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputTypeError("correlation must be a matrix of numbers.") from None
    p = len(names)
    if matrix.shape != (p, p):
        raise InputError(f"correlation has shape {matrix.shape}: {p} inputs need ({p}, {p}).")
    _check_correlations(matrix)
    return np.asarray((matrix + matrix.T) / 2)


def _of_pairs(pairs: Mapping[Any, float], names: list[str]) -> FloatArray:
    matrix = np.eye(len(names))
    for pair, value in pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(f"correlation has {pair!r}, which is no pair of two inputs.")
        unknown = [str(name) for name in pair if str(name) not in names]
        if unknown:
            raise InputError(f"correlation names {listed(unknown)}, which is no input.")
        if pair[::-1] in pairs and pairs[pair[::-1]] != value:
            raise InputError(f"correlation has two values for {pair!r}, one in each order.")
        first, second = (names.index(str(name)) for name in pair)
        if not isinstance(value, int | float | np.number):
            raise InputTypeError(f"correlation has {value!r} for {pair!r}, which is no number.")
        matrix[first, second] = matrix[second, first] = value
    _check_correlations(matrix)
    return matrix


def _in_order(frame: Any, names: list[str]) -> FloatArray:
    """The matrix of a frame whose columns (and rows, where these have names) are the inputs."""
    columns = [str(name) for name in frame.columns]
    rows = [str(name) for name in frame.index] if hasattr(frame, "index") else columns
    if sorted(columns) != sorted(names) or sorted(rows) != sorted(names):
        raise InputError("Rows and columns of correlation must have the names of the inputs.")
    order = np.ix_([rows.index(name) for name in names], [columns.index(name) for name in names])
    return np.asarray(frame)[order]


def _check_correlations(matrix: FloatArray) -> None:
    if not (np.abs(matrix) <= 1).all():  # NaN is not
        raise InputError("correlation must hold numbers between -1 and 1.")
    if not np.allclose(np.diag(matrix), 1):
        raise InputError("The diagonal of correlation must be 1.")
    if not np.allclose(matrix, matrix.T):
        raise InputError("correlation must be symmetric.")


def normal_correlation(ranks: FloatArray) -> FloatArray:
    """Return the correlation of the normals whose ranks have these correlations: 2 sin(πr / 6).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.points import normal_correlation
    >>> normal_correlation(np.array([[1.0, 0.5], [0.5, 1.0]])).round(3).tolist()
    [[1.0, 0.518], [0.518, 1.0]]
    """
    normal = 2 * np.sin(np.pi / 6 * ranks)
    smallest = float(np.linalg.eigvalsh(normal)[0])
    if smallest < -ROUNDING:
        raise InputError(
            "No inputs have these rank correlations together (the matrix of the normal copula has "
            f"the eigenvalue {smallest:.3f}): make the correlations smaller."
        )
    return np.asarray(normal)


def _root(normal: FloatArray) -> FloatArray:
    """A matrix that gives independent normals this correlation, also if that is singular."""
    sizes, axes = np.linalg.eigh(normal)
    root = (axes * np.sqrt(np.maximum(sizes, 0.0))) @ axes.T
    return np.asarray(root / np.linalg.norm(root, axis=0))
