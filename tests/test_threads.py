"""Threads: one set of them for a fit, tasks inside tasks, the error that is raised, and Ctrl-C."""

import _thread
import os
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
from test_core import long_growth

from shaff import ShapleyEffects, _core
from shaff._util.threads import (
    FALSE_ALARM,
    WORTH_SHARING,
    block_size,
    n_threads,
    recorder,
    run_in_threads,
    thread_pool,
)
from shaff._util.work import current_engine, engaged
from shaff.datasets import experiment_1a

LONG = 60.0  # seconds, for waits that end at once unless something is broken


def new_flag():
    return np.zeros(1, dtype=np.uint8)


GROWTH = long_growth()


def kernel(cancel, n_trees=1000):
    """Growing that takes minutes, unless it is cancelled."""
    own = {"residual": GROWTH["residual"].copy(), "cancel": cancel, "n_trees": n_trees}
    _core.grow_trees(**{**GROWTH, **own})


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("shaff")]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_results_have_the_order_of_the_tasks(n_jobs):
    assert run_in_threads(pow, [(k, 2) for k in range(20)], n_jobs) == [k**2 for k in range(20)]
    assert run_in_threads(pow, [], n_jobs) == []


def test_a_single_task_stays_in_its_thread_and_may_have_tasks_of_its_own():
    both = threading.Barrier(2)

    def inner():
        both.wait(LONG)
        return threading.get_ident()

    def outer():
        return threading.get_ident(), run_in_threads(inner, [(), ()], 2)

    ((own, inside),) = run_in_threads(outer, [()], 2)
    assert own == threading.get_ident()
    assert own not in inside
    assert len(set(inside)) == 2


def test_tasks_of_tasks_run_in_the_thread_of_their_task():
    def outer():
        inside = run_in_threads(threading.get_ident, [()] * 3, 4)
        return threading.get_ident(), set(inside), n_threads(4)

    for own, inside, n_inside in run_in_threads(outer, [()] * 4, 2):
        assert own != threading.get_ident()
        assert inside == {own}
        assert n_inside == 1


def test_calls_share_the_threads_of_a_pool_also_after_a_failure():
    both = threading.Barrier(2)

    def task(fails=False):
        both.wait(LONG)
        work(WORTH_SHARING)
        if fails:
            raise ValueError("no")
        return threading.get_ident()

    with thread_pool(2):
        first = run_in_threads(task, [(), ()], 2)
        with pytest.raises(ValueError, match="no"):
            run_in_threads(task, [(True,), (True,)], 2)
        second = run_in_threads(task, [(), ()], 2)
        assert len(own_threads()) == 2
    assert set(first) == set(second)
    assert own_threads() == []


def work(seconds):
    """Keep the processor busy."""
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        pass


def test_tasks_that_are_known_to_be_short_are_done_where_they_are_asked_for():
    def task(seconds):
        work(seconds)
        return threading.get_ident()

    with thread_pool(2):
        unknown = run_in_threads(task, [(0.0,), (0.0,)], 2)
        short = run_in_threads(task, [(2 * WORTH_SHARING,), (0.0,)], 2)
        long = run_in_threads(task, [(0.0,), (0.0,)], 2)
    here = threading.get_ident()
    assert here not in unknown
    assert short == [here, here]
    assert here not in long


def test_a_pool_that_is_left_by_an_error_leaves_no_thread():
    with pytest.raises(ZeroDivisionError), thread_pool(2):
        run_in_threads(divmod, [(1, 1), (1, 0), (1, 1)], 2)
    assert own_threads() == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_task_ends_the_others(n_jobs):
    cancel = new_flag()

    def task(fails):
        if fails:
            raise ValueError("no")
        kernel(cancel)

    with pytest.raises(ValueError, match="no"):
        run_in_threads(task, [(True,), (False,)], n_jobs, cancel)
    assert cancel[0] == 1
    assert own_threads() == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_error_is_that_of_the_first_task_that_fails(n_jobs):
    """Also when another has failed before it; and none is begun then."""
    begun, failing = [], threading.Event()

    def task(number):
        begun.append(number)
        if number == 0 and n_jobs > 1:
            assert failing.wait(LONG)
        failing.set()
        raise ValueError(f"task {number}")

    with pytest.raises(ValueError, match="task 0"):
        run_in_threads(task, [(k,) for k in range(9)], n_jobs, new_flag())
    assert sorted(begun) == list(range(n_jobs))


def test_a_task_before_the_failing_one_is_not_cancelled():
    cancel, failing = new_flag(), threading.Event()

    def task(number):
        if number == 1:
            failing.set()
            raise ValueError("later")
        assert failing.wait(LONG)
        kernel(cancel, n_trees=10)

    with pytest.raises(ValueError, match="later"):
        run_in_threads(task, [(0,), (1,)], 2, cancel)
    assert cancel[0] == 1


def test_ctrl_c_ends_kernels_before_it_reaches_the_caller():
    """Those of tasks, and of tasks of tasks, which have flags of their own."""
    cancel, inner, ended = new_flag(), new_flag(), []
    both = threading.Barrier(2)

    def task(nested):
        both.wait(LONG)
        if not nested:
            _thread.interrupt_main()
        try:
            if nested:
                run_in_threads(kernel, [(inner,)] * 2, 2, inner)
            kernel(cancel)
        finally:
            ended.append(nested)

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(task, [(False,), (True,), (True,)], 2, cancel)
    assert sorted(ended) == [False, True]
    assert cancel[0] == inner[0] == 1
    assert own_threads() == []


def test_ctrl_c_while_a_thread_begins_leaves_no_thread(monkeypatch):
    """The executor has begun the second thread then, and does not know of it."""
    start, working = threading.Thread.start, threading.Event()

    def interrupted_start(thread):
        start(thread)
        if thread.name == "shaff_1":
            assert working.wait(LONG)
            raise KeyboardInterrupt

    def task(second):
        if second:
            working.set()
        kernel(cancel)

    cancel = new_flag()
    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        run_in_threads(task, [(False,), (True,)], 2, cancel)
    assert own_threads() == []


def test_tasks_of_tasks_do_not_take_back_that_all_is_cancelled():
    cancel, left, both = new_flag(), [], threading.Barrier(2)

    def outer(first):
        both.wait(LONG)
        if first:
            _thread.interrupt_main()
        try:
            kernel(cancel)
        finally:
            try:
                run_in_threads(left.append, [("begun",)], 2, cancel)
            finally:
                left.append(int(cancel[0]))

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(outer, [(True,), (False,)], 2, cancel)
    assert left == [1, 1]


def test_a_flag_is_reset_by_the_next_call():
    cancel = np.ones(1, dtype=np.uint8)
    assert run_in_threads(cancel.item, [(0,), (0,)], 2, cancel) == [0, 0]

    def nested():
        return run_in_threads(inner.item, [(0,), (0,)], 2, inner)

    inner = np.ones(1, dtype=np.uint8)
    assert run_in_threads(nested, [(), ()], 2, cancel) == [[0, 0], [0, 0]]


def test_numbers_of_threads_are_those_of_joblib():
    n_cores = joblib.cpu_count()
    assert [n_threads(n) for n in (None, 1, 5, -1)] == [1, 1, 5, n_cores]
    assert n_threads(-2) == max(1, n_cores - 1)
    for backend in ({}, {"backend": "threading"}, {"backend": "loky"}):
        with joblib.parallel_config(**backend, n_jobs=3):
            assert [n_threads(n) for n in (None, 2, -1)] == [3, 2, n_cores]
    with joblib.parallel_config(backend="sequential", n_jobs=3):
        assert n_threads(None) == n_threads(4) == 1
    with pytest.raises(ValueError, match="n_jobs == 0"):
        run_in_threads(max, [(1, 2), (3, 4)], 0)


def test_in_tasks_all_stays_in_this_process():
    """Both what other libraries ask of joblib, and our own tasks."""

    def task():
        jobs = joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(4))
        return current_engine(), set(jobs)

    with joblib.parallel_config(backend="loky", n_jobs=2), engaged(2):
        assert current_engine() is not None
        found = run_in_threads(task, [(), ()], 2)
    assert found == [(None, {os.getpid()})] * 2


@pytest.mark.parametrize("estimator", ["auto", "boosting"])
def test_a_fit_starts_its_threads_once_and_leaves_none(estimator, monkeypatch):
    started, start = [], threading.Thread.start

    def counting(thread):
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counting)
    before = threading.enumerate()
    bits(estimator, n_jobs=2)
    assert 1 <= len(started) <= 2
    assert threading.enumerate() == before


def bits(estimator="boosting", n_jobs=2, seed=0):
    exp = experiment_1a(n=80, random_state=seed)
    settings = {"n_subsets": 20, "random_state": 0, "n_jobs": n_jobs}
    result = ShapleyEffects(estimator, **settings).fit(exp.X[:, :4], exp.y).result_
    return result.effects.tobytes(), result.covariance.tobytes()


@pytest.mark.parametrize("estimator", ["forest", "auto"])
def test_fits_are_the_same_bits_for_any_number_of_threads(estimator):
    assert bits(estimator, 1) == bits(estimator, 2) == bits(estimator, 3)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_inside_of_joblib(backend):
    here = [bits(n_jobs=1, seed=seed) for seed in range(2)]
    fits = (joblib.delayed(bits)(seed=seed) for seed in range(2))
    assert joblib.Parallel(n_jobs=2, backend=backend)(fits) == here
    assert own_threads() == []


def test_blocks_fill_the_threads_but_no_more():
    """A task costs some subsets besides its own: many threads do not mean one subset each."""
    sizes = [block_size(64, 5, n_jobs, most=64) for n_jobs in (1, 5, 10, 40)]
    assert sizes == [64, 64, 32, 8]
    assert block_size(1000, 1, 1, most=64) == 63  # 16 blocks, as few as there may be
    assert block_size(0, 5, 2, most=64) == 1


def test_a_recorder_runs_calls_of_several_tasks_in_place_of_threads():
    seen = []

    def record(function, tasks):
        seen.append(len(tasks))
        return [function(*task) for task in tasks]

    token = recorder.set(record)
    try:
        found = [run_in_threads(threading.get_ident, [()] * n, 2) for n in (1, 3)]
    finally:
        recorder.reset(token)
    assert seen == [3]
    assert set(found[0] + found[1]) == {threading.get_ident()}


def test_what_threads_warn_of_is_passed_on_but_for_false_alarms():
    """Fitting boosters side by side makes scikit-learn warn of nothing, now and then."""

    def task(message):
        warnings.warn(message, UserWarning, stacklevel=1)

    filters = list(warnings.filters)
    with pytest.warns(UserWarning, match="true") as caught:
        run_in_threads(task, [(FALSE_ALARM + " …",), ("true",)], 2)
    assert [str(w.message) for w in caught] == ["true"]
    assert list(warnings.filters) == filters
