"""Where tasks run when not here: processes of this machine, Dask, Ray, any engine of joblib.

Each engine knows three things: how many tasks it runs at once, how bytes get to its workers once,
and how tasks are sent and come back in whatever order. That a worker may be lost is seen to
elsewhere, once for all of them.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from shaff._util.work.parcel import ByteArray
from shaff._util.work.worker import work
from shaff.errors import StorageError

Tasks = Mapping[int, tuple[Any, ...]]
# Tasks under way for each worker: the next one waits there while the last is fetched.
QUEUED = 2
# Bytes from which on a part of a task is heavy. More, and Dask warns of large graphs; fewer, and
# each is a message of its own.
HEAVY = 2**20


class Engine(ABC):
    """One way to run tasks elsewhere.

    Parameters
    ----------
    n_workers : int

    Attributes
    ----------
    name : str
        Name of the engine, as users call it.
    """

    name: str

    def __init__(self, n_workers: int) -> None:
        self.n_workers = max(1, n_workers)

    @property
    def place(self) -> Any:
        """Identity of the workers; equal as long as what was shipped is still there."""
        return self.name

    @property
    def is_gone(self) -> bool:
        """Whether the engine is lost for good."""
        return False

    @abstractmethod
    def ship(self, parcel: ByteArray) -> Any:
        """Return what tasks receive in place of the parcel, for as long as it is kept."""

    @abstractmethod
    def run(
        self, key: str, shipped: Any, function: Callable[..., Any], tasks: Tasks
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and outcome of each finished task; errors are faults of the engine."""


class JoblibEngine(Engine):
    """Any backend of joblib; the parcel is part of every task."""

    _return_as = "list"

    def __init__(self, n_workers: int, name: str, backend: Any = None) -> None:
        super().__init__(n_workers)
        self.name, self._backend = name, backend

    def ship(self, parcel: ByteArray) -> Any:
        """Return the parcel itself."""
        return parcel

    def run(
        self, key: str, shipped: Any, function: Callable[..., Any], tasks: Tasks
    ) -> Iterator[tuple[int, Any]]:
        """Yield outcomes, one task per batch, in order if the backend knows no other way."""
        parallel = joblib.Parallel(
            n_jobs=self.n_workers, backend=self._backend, batch_size=1, pre_dispatch="2*n_jobs",
            return_as=self._return_as,
        )  # fmt: skip
        jobs = (joblib.delayed(_numbered)(n, key, shipped, function, *t) for n, t in tasks.items())
        yield from parallel(jobs)


class ProcessEngine(JoblibEngine):
    """Processes of this machine (loky): the parcel is a file that all of them map."""

    _return_as = "generator_unordered"

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers, "loky", "loky")

    def ship(self, parcel: ByteArray) -> Any:
        """Return the path of a file that is removed when nothing refers to it any more."""
        return _MappedFile(parcel)

    def run(
        self, key: str, shipped: Any, function: Callable[..., Any], tasks: Tasks
    ) -> Iterator[tuple[int, Any]]:
        """Yield outcomes as tasks are done."""
        return super().run(key, shipped.path, function, tasks)


class _MappedFile:
    def __init__(self, parcel: ByteArray) -> None:
        folder = os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
        try:
            handle, self.path = tempfile.mkstemp(prefix="shaff-", dir=folder)
            weakref.finalize(self, Path(self.path).unlink, missing_ok=True)
            with os.fdopen(handle, "wb") as file:
                file.write(parcel.data)
        except OSError as error:
            raise StorageError(
                f"What the processes share, {len(parcel) / 1e6:.0f} MB, cannot be written to "
                f"{folder} ({error.strerror}): name another folder in JOBLIB_TEMP_FOLDER."
            ) from error


def _numbered(number: int, *job: Any) -> tuple[int, Any]:
    return number, work(*job)


class DaskEngine(Engine):
    """A Dask cluster: the parcel is scattered, and each worker holds it as long as it is needed."""

    name = "dask"

    def __init__(self, client: Any) -> None:
        super().__init__(sum(client.ncores().values()))
        self._client = client

    @property
    def place(self) -> Any:
        """Identity of the cluster, as this client sees it."""
        return "dask", self._client.id

    @property
    def is_gone(self) -> bool:
        """Whether the client is closed, as it is after waiting in vain for its scheduler."""
        return self._client.status in ("closing", "closed")

    def ship(self, parcel: ByteArray) -> Any:
        """Return a holder with a future of the parcel on each worker that needs it."""
        return _Scattered(self._client, parcel)

    def run(
        self, key: str, shipped: Any, function: Callable[..., Any], tasks: Tasks
    ) -> Iterator[tuple[int, Any]]:
        """Yield outcomes as tasks are done; Dask itself reruns those of lost workers."""
        from distributed import as_completed

        waiting, under_way = list(tasks.items())[::-1], dict[Any, tuple[int, Any]]()

        def send(place: Any) -> Any:
            number, task = waiting.pop()
            future = self._submit(place, (key, shipped.at(place), function), task)
            under_way[future] = number, place
            return future

        try:
            places = QUEUED * self._places()
            done = as_completed([send(place) for place in places[: len(tasks)]])
            for future in done:
                number, place = under_way.pop(future)
                if waiting:
                    done.add(send(place))
                yield number, future.result()
        finally:
            with suppress(Exception):  # also when there is no scheduler to tell any more
                self._client.cancel(list(under_way))

    def _places(self) -> list[Any]:
        """Where tasks are sent, a worker as often as it has cores; anywhere if there is none yet.

        Left to itself the scheduler may give two tasks to one worker while another has none.
        """
        found = self._client.ncores().items()
        return [place for place, n_cores in found for _ in range(n_cores)] or [None]

    def _submit(self, place: Any, job: tuple[Any, ...], task: tuple[Any, ...]) -> Any:
        """Submit a task to a worker, or to another if that one is lost."""
        parts = [self._straight(part, place) for part in task]
        return self._client.submit(
            work, *job, *parts, pure=False, workers=place, allow_other_workers=place is not None
        )

    def _straight(self, part: Any, place: Any) -> Any:
        """Send large objects to a worker directly, not through the scheduler."""
        from dask.sizeof import sizeof

        if sizeof(part) < HEAVY:
            return part
        (future,) = self._client.scatter([part], workers=place, hash=False)
        return future


class _Scattered:
    """A parcel on a Dask cluster.

    To scatter it to all workers at once would not last: Dask drops copies that no task waits for
    just now. A worker keeps what is the outcome of a task of its own. Of two that ask, the second
    may have it from the first.
    """

    def __init__(self, client: Any, parcel: ByteArray) -> None:
        self._client, self._held = client, dict[Any, Any]()
        self._parcel = client.scatter(parcel, hash=False)

    def at(self, place: Any) -> Any:
        """Return a future of the parcel on a worker."""
        if place is None:
            return self._parcel
        if place not in self._held:
            self._held[place] = self._client.submit(
                _shipped_parcel, self._parcel, pure=False, workers=place, allow_other_workers=True
            )
        return self._held[place]


def _shipped_parcel(parcel: ByteArray) -> ByteArray:
    return parcel


class RayEngine(Engine):
    """A Ray cluster: the parcel is put into its object store, one copy a machine."""

    name = "ray"

    def __init__(self, n_workers: int, options: Mapping[str, Any]) -> None:
        import ray

        super().__init__(n_workers)
        # Ray runs the tasks of a lost worker again.
        self._work = ray.remote(**{"num_cpus": 1, "max_retries": 3, **options})(work)

    @property
    def place(self) -> Any:
        """Identity of the cluster that this process is connected to."""
        import ray

        return "ray", ray.get_runtime_context().get_job_id()

    def ship(self, parcel: ByteArray) -> Any:
        """Return a reference to the object store."""
        import ray

        return ray.put(parcel)

    def run(
        self, key: str, shipped: Any, function: Callable[..., Any], tasks: Tasks
    ) -> Iterator[tuple[int, Any]]:
        """Yield outcomes as tasks are done, with a few tasks per worker under way."""
        import ray

        waiting, numbers = list(tasks.items())[::-1], dict[Any, int]()
        try:
            while waiting or numbers:
                while waiting and len(numbers) < QUEUED * self.n_workers:
                    number, task = waiting.pop()
                    numbers[self._work.remote(key, shipped, function, *task)] = number
                (done,), _ = ray.wait(list(numbers), num_returns=1)
                outcome = ray.get(done)
                yield numbers.pop(done), outcome
        finally:
            with suppress(Exception):
                for reference in numbers:
                    ray.cancel(reference)


def active_engine(n_jobs: int | None, prefer: str = "threads") -> Engine | None:
    """Return the engine that ``joblib.parallel_config`` selects; None for threads of this process.

    Examples
    --------
    >>> import joblib
    >>> from shaff._util.work.engines import active_engine
    >>> active_engine(n_jobs=2) is None
    True
    >>> with joblib.parallel_config(backend="loky"):
    ...     active_engine(n_jobs=2).name
    'loky'
    """
    backend, configured = get_active_backend(prefer=prefer)
    if getattr(backend, "supports_sharedmem", False):
        return None
    n_requested = configured if n_jobs is None else n_jobs
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        return DaskEngine(backend.client)
    n_workers = backend.effective_n_jobs(1 if n_requested is None else n_requested)
    if kind == "RayBackend":
        return RayEngine(n_workers, backend.ray_remote_args or {})
    if n_workers == 1:
        return None
    # The pool of "multiprocessing" waits for ever for a worker that was killed.
    if kind in ("LokyBackend", "MultiprocessingBackend"):
        return ProcessEngine(n_workers)
    return JoblibEngine(n_workers, kind)
