"""What a result says of its own making: the settings that were given, and the libraries."""

from __future__ import annotations

import inspect
import platform

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator


def changed_settings(estimator: BaseEstimator, leave_out: frozenset[str]) -> list[str]:
    """Arguments of an estimator that are not the default ones, as they are written in a call.

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


def library_versions() -> dict[str, str]:
    """Of what may change a result."""
    libraries = (np, scipy, sklearn)
    return {
        "Python": platform.python_version(),
        **{library.__name__: str(library.__version__) for library in libraries},
    }
