"""Where a result comes from: the call that makes it again, the libraries, who read the data."""

from __future__ import annotations

import inspect
import platform
from dataclasses import dataclass, field

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from shaff._util.frames import Backend
from shaff.data.remarks import Remark


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that may change a result."""
    libraries = (np, scipy, sklearn)
    return {
        "Python": platform.python_version(),
        **{library.__name__: str(library.__version__) for library in libraries},
    }


@dataclass(frozen=True)
class Provenance:
    """What a result says about its own making.

    Parameters
    ----------
    call : str or None, default=None
        The call that gives the same result.
    library : {"pandas", "polars", "pyarrow"} or None, default=None
        The library of the frame that was given.
    remarks : tuple of Remark, default=()
        What was done to the data before they were passed on, as by the command line.
    versions : dict of str
        Versions of Python and of the libraries that were used.
    """

    call: str | None = None
    library: Backend | None = None
    remarks: tuple[Remark, ...] = ()
    versions: dict[str, str] = field(default_factory=library_versions)


def changed_settings(estimator: BaseEstimator, leave_out: frozenset[str]) -> list[str]:
    """Return the arguments of an estimator that are not the default ones, as a call writes them.

    Examples
    --------
    >>> from shaff import ShapleyEffects
    >>> from shaff.fitting.provenance import changed_settings
    >>> changed_settings(ShapleyEffects("forest", n_jobs=2), frozenset({"n_jobs"}))
    ["estimator='forest'"]
    """
    parameters = inspect.signature(type(estimator)).parameters
    written = {
        name: " ".join(repr(value).split())
        for name, value in estimator.get_params(deep=False).items()
        if name not in leave_out
    }
    return [
        f"{name}={text}" for name, text in written.items() if text != repr(parameters[name].default)
    ]
