"""Tasks for the tests of engines: in a module, so that workers can import them."""

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

from shaff.errors import InputError


def scaled(shared, factor):
    return shared["x"] * factor


def address(shared, _):
    """Where the shared array is, in which process."""
    return os.getpid(), shared["x"].__array_interface__["data"][0]


def killed_once(shared, folder, number):
    """The first who comes is killed, and all that its worker was at is lost."""
    flag = Path(folder) / "killed"
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return shared["x"][number]
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(shared, _):
    os.kill(os.getpid(), signal.SIGKILL)


def refused(shared, folder):
    """Counts how often it is called."""
    (Path(folder) / np.random.default_rng().bytes(8).hex()).touch()
    raise InputError("not this one")


class UnsendableError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def unsendable(shared, _):
    raise UnsendableError(1, 2)


class Deadly(LinearRegression):
    """A model that no worker survives."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)
