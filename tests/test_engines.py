"""Work elsewhere: processes, Dask and Ray give the bits of one process, and lost workers are made
up for."""

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import cache, partial

import engine_tasks
import joblib
import numpy as np
import psutil
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects
from shaff._util import work
from shaff._util.work import engaged, run_tasks, stream_outcomes
from shaff._util.work.parcel import ALIGNMENT, pack, unpack
from shaff.data.problem import Problem
from shaff.data.sources.passes import MemoryRows
from shaff.datasets import experiment_1a
from shaff.errors import InputError, StorageError, WorkersLostError
from shaff.fitting.evaluator import Evaluator
from shaff.subsets import Subsets
from shaff.values.making import make_values

pytestmark = [
    # Of the engines, not ours.
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
    pytest.mark.filterwarnings("default::FutureWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]
# Read when Ray is imported: its servers listen at the loopback address and at no other.
ONLY_HERE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
SOME = Subsets.from_masks([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]])


def path_of_workers():
    """Workers import what the tests share."""
    return os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])


@contextmanager
def loky():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield


@contextmanager
def no_cluster():
    """Joblib starts the processes itself."""
    yield


@contextmanager
def dask_cluster():
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@contextmanager
def ray_cluster():
    import ray as engine
    from ray.util.joblib import register_ray

    engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    register_ray()
    try:
        assert engine.util.get_node_ip_address() == "127.0.0.1"
        assert listening() <= LOOPBACK
        yield
    finally:
        engine.shutdown()


def listening():
    """Addresses at which this process and those below it wait for others."""
    here = psutil.Process()
    sockets = [
        socket
        for process in (here, *here.children(recursive=True))
        for socket in process.net_connections(kind="inet")
    ]
    return {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}


LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
CLUSTERS = {"loky": no_cluster, "dask": dask_cluster, "ray": ray_cluster}


@pytest.fixture(scope="module", params=list(CLUSTERS))
def engine(request):
    """A context in which tasks go to a cluster, which all tests of an engine share."""
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = path_of_workers()
    os.environ |= {"RAY_AUTH_MODE": "disabled", **ONLY_HERE}
    n_jobs = {} if request.param == "dask" else {"n_jobs": 2}
    try:
        with CLUSTERS[request.param]():
            yield partial(joblib.parallel_config, backend=request.param, **n_jobs)
    finally:
        os.environ.clear()
        os.environ.update(before)


def mixed(n=100):
    """Numbers, categories and missing values; weights and groups of rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 3] = rng.integers(4, size=n)
    X[::9, 1] = np.nan
    y = X[:, 0] + np.isnan(X[:, 1]) + (X[:, 3] == 2) * X[:, 2] + 0.3 * rng.normal(size=n)
    rows = {"sample_weight": rng.integers(1, 3, size=n), "row_groups": np.arange(n) // 2}
    return X, y, rows


def bits(est, X, y, **rows):
    result = est.fit(X, y, **rows).result_
    return result.effects.tobytes(), result.covariance.tobytes(), result.n_subsets


def cases():
    """Every way in which learners are grown and evaluated; small ones of each."""
    plain = experiment_1a(n=100, random_state=0)
    X, y, rows = mixed()
    wide = np.random.default_rng(1).normal(size=(80, 27))
    settings = {"n_subsets": 20, "random_state": 0}
    booster = HistGradientBoostingRegressor(max_iter=10, max_features=0.5)
    forest = RandomForestRegressor(20, min_samples_leaf=5)
    both, first = np.column_stack([y, X[:, 2]]), plain.X[:, :4]
    yield "booster", ShapleyEffects(booster, categorical=[3], **settings), X, both, rows
    yield "forest", ShapleyEffects(forest, **settings), first, plain.y, {}
    yield "grown", ShapleyEffects(forest, categorical=[3], **settings), X, y, rows
    refit = ShapleyEffects.preset("williamson", estimator=LinearRegression(), **settings)
    yield "refitted", refit, first, plain.y, {}
    few = {**settings, "n_subsets": 56, "screen": 3, "design": "leverage"}
    yield "screened", ShapleyEffects("smooth", **few), wide, wide[:, 0] + wide[:, 1], {}
    sampled = {**settings, "max_rows": 60, "value_rows": "all"}
    yield "all rows", ShapleyEffects(booster, categorical=[3], **sampled), X, both, rows


def long_cases():
    """The default learners, which make choices while they grow."""
    exp, settings = experiment_1a(n=400, random_state=0), {"n_subsets": 60, "random_state": 0}
    for name in ("boosting", "stack"):
        yield name, ShapleyEffects(name, n_jobs=2, **settings), exp.X, exp.y, {}


@pytest.mark.parametrize("some", [cases, pytest.param(long_cases, marks=pytest.mark.slow)])
def test_fits_are_the_same_bits(engine, some, monkeypatch):
    monkeypatch.setattr("shaff.data.sources.sampled.MemoryRows", partial(MemoryRows, size=15))
    monkeypatch.setattr("shaff._util.work.engines.HEAVY", 200)  # as blocks of many rows are
    here = bits_here(some)
    with engine():
        for name, est, X, y, rows in some():
            assert bits(est, X, y, **rows) == here[name], name


@cache
def bits_here(some):
    """By one process."""
    return {name: bits(est, X, y, **rows) for name, est, X, y, rows in some()}


def test_a_default_fit_is_the_same_bits():
    exp = experiment_1a(n=60, random_state=0)
    boosting = ShapleyEffects("boosting", random_state=0, cv=2, n_jobs=2)
    stack = make_values("stack", Problem.of(exp.X[:, :3], exp.y, random_state=0)).values
    here = bits(boosting, exp.X[:, :3], exp.y), Evaluator(stack).evaluate(SOME)
    with loky():
        assert bits(boosting, exp.X[:, :3], exp.y) == here[0]
        with engaged(None):
            there = Evaluator(stack).evaluate(SOME)
    assert there.v.tobytes() == here[1].v.tobytes()
    assert there.influences.tobytes() == here[1].influences.tobytes()


def test_tasks(engine, tmp_path, monkeypatch):
    """In one cluster: order, shipping once, errors of ours, and workers that are killed."""
    monkeypatch.setattr(work, "PATIENCE", 0.01)
    shared = Shared(x=np.arange(50_000.0))
    with engine(), engaged(None):
        found = run_tasks(engine_tasks.scaled, shared, [(k,) for k in range(5)], None)
        for k, part in enumerate(found):
            assert part.tobytes() == (shared["x"] * k).tobytes()

        places = run_tasks(engine_tasks.address, shared, [(k,) for k in range(8)], None)
        assert os.getpid() not in dict(places)
        assert len(set(places)) == len(dict(places)) <= 2  # opened once by each worker

        with pytest.raises(InputError, match="not this one"):
            run_tasks(engine_tasks.refused, shared, [(tmp_path,)], None)
        assert len(list(tmp_path.iterdir())) == 1  # and not asked again
        with pytest.raises(RuntimeError, match="UnsendableError: 1 and 2"):
            run_tasks(engine_tasks.unsendable, shared, [(0,)], None)

        tasks = [(tmp_path, k) for k in range(6)]
        assert run_tasks(engine_tasks.killed_once, shared, tasks, None) == list(range(6))


class Shared(dict):
    """One that can be referred to weakly."""

    __hash__ = object.__hash__


def test_workers_that_are_lost_again_and_again_end_the_run(monkeypatch):
    monkeypatch.setattr(work, "PATIENCE", 0.01)
    monkeypatch.setattr(work, "MAX_FAULTS", 0)
    shared = Shared(x=np.zeros(1))
    with loky(), engaged(None):
        with pytest.raises(WorkersLostError, match=r"\(loky\) were lost 1 times in a row"):
            run_tasks(engine_tasks.deadly, shared, [(0,)], None)
        assert run_tasks(engine_tasks.scaled, shared, [(0,), (1,)], None)[1].sum() == 0


CLUSTER = """
import distributed
cluster = distributed.LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
)
print(cluster.scheduler_address, flush=True)
input()
"""


def test_a_scheduler_that_is_gone_ends_all_tasks_with_a_sentence(monkeypatch):
    """Scheduler and worker are one process here, and the task kills it."""
    import distributed

    monkeypatch.setattr(work, "PATIENCE", 0.01)
    monkeypatch.setenv("PYTHONPATH", path_of_workers())
    words, pipe = [sys.executable, "-c", CLUSTER], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as cluster:
        address, shared = cluster.stdout.readline().strip(), Shared(x=np.zeros(1))
        with (
            distributed.Client(address, timeout=1),
            joblib.parallel_config(backend="dask"),
            engaged(None),
        ):
            tasks = stream_outcomes(
                work.current_engine(), engine_tasks.deadly, shared, [(0,), (1,)]
            )
            found = dict(tasks)
    assert cluster.returncode == -signal.SIGKILL
    assert sorted(found) == [0, 1]
    for outcome in found.values():
        with pytest.raises(WorkersLostError, match=r"The scheduler \(dask\) is gone\. What was"):
            outcome.get()


def test_a_full_disk_is_told_at_once(tmp_path, monkeypatch):
    """A limit of the system stands for the disk."""
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    sentence = r"What the processes share, 1 MB, .*\(File too large\): name another folder"
    try:
        with loky(), engaged(None), pytest.raises(StorageError, match=sentence):
            run_tasks(engine_tasks.scaled, Shared(x=np.zeros(130_000)), [(0,), (1,)], None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.glob("shaff-*")) == []


def test_progress_counts_what_comes_back():
    exp = experiment_1a(n=100, random_state=0)
    game = make_values("forest", Problem.of(exp.X, exp.y, random_state=0)).values
    seen = []

    class Steps:
        def update(self, done, total, note=""):
            seen.append((done, total))

    subsets = Subsets.from_masks(np.tri(15, dtype=bool)[:14])
    with loky(), engaged(None):
        values = Evaluator(game, progress=Steps()).evaluate(subsets, total=14)
    assert seen == [(7, 14), (14, 14)]
    assert values.v.tobytes() == Evaluator(game).evaluate(subsets).v.tobytes()


def test_what_is_shipped_leaves_with_the_object(tmp_path, monkeypatch):
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    shared = Shared(x=np.arange(10.0))
    with loky(), engaged(None):
        for _ in range(2):
            run_tasks(engine_tasks.scaled, shared, [(1,), (2,)], None)
            assert len(list(tmp_path.glob("shaff-*"))) == 1
    del shared
    assert list(tmp_path.glob("shaff-*")) == []


def test_dask_workers_keep_what_was_shipped():
    """Also while nothing waits for it, when Dask drops all copies but one."""
    import distributed

    shared = Shared(x=np.arange(50_000.0))
    with (
        distributed.Client(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as client,
        joblib.parallel_config(backend="dask"),
        engaged(None),
    ):
        run_tasks(engine_tasks.scaled, shared, [(1,), (2,)], None)
        client.amm.run_once()
        sizes = client.nbytes(summary=False)
        held = [max(map(sizes.get, keys), default=0) for keys in client.has_what().values()]
    assert len(held) == 2
    assert min(held) > shared["x"].nbytes


def test_threads_are_the_default_and_are_kept_to():
    assert work.current_engine() is None
    for backend in ("threading", "sequential"):
        with joblib.parallel_config(backend=backend, n_jobs=2), engaged(2):
            assert work.current_engine() is None
    with loky(), engaged(1):
        assert work.current_engine() is None
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2), engaged(None):
        assert work.current_engine().name == "loky"


@pytest.mark.parametrize("n", [0, 1, 511, 512, 10_000])
def test_parcels_keep_what_they_hold(n):
    x = np.arange(n, dtype=np.float64)
    thing = {"x": x, "again": x, "columns": np.asfortranarray(np.ones((n, 3))), "word": "é"}
    parcel = pack(thing)
    opened = unpack(parcel)
    assert opened["word"] == "é"
    for name in ("x", "columns"):
        assert opened[name].tobytes() == thing[name].tobytes()
        assert opened[name].flags.f_contiguous == thing[name].flags.f_contiguous
    assert opened["again"] is opened["x"]
    if n == 10_000:
        assert len(parcel) < 5 * x.nbytes  # each array once
        offset = opened["x"].__array_interface__["data"][0]
        assert (offset - parcel.__array_interface__["data"][0]) % ALIGNMENT == 0
    opened["x"][:1] = 7  # in the parcel, not here
    assert n == 0 or x[0] == 0


@pytest.mark.parametrize("name", ["boosting", "forest", "smooth"])
def test_a_value_does_not_depend_on_its_block(name):
    """Else it would depend on the number of workers."""
    exp = experiment_1a(n=80, random_state=0)
    game = make_values(name, Problem.of(exp.X, exp.y, random_state=0)).values
    subsets = Subsets.from_masks(np.random.default_rng(0).random((24, 15)) < 0.5)
    whole = game.values(subsets, influences=True)
    for size in (1, 7, 10):
        parts = [game.values(subsets[k : k + size], influences=True) for k in range(0, 24, size)]
        assert np.concatenate([part.v for part in parts]).tobytes() == whole.v.tobytes()
        psi = np.concatenate([part.influences for part in parts])
        assert psi.tobytes() == whole.influences.tobytes()
