"""Builds what a release consists of, and checks it in empty environments.

`python -m benchmarks.wheels build FOLDER` writes the source archive and from it the wheels of
Python 3.11 and of 3.12 and later; `check FOLDER` tests them. `make check-wheels` does both. Other
systems and the free-threaded Python are left to the workflow ``wheels``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT_ON = ("3.11", "3.12")
TESTED_ON = ("3.11", "3.12", "3.13", "3.14")
DATE = ".source-date-epoch"
LARGEST = 5e6  # bytes of a wheel
IMPORT_TIME = "import time; t = time.perf_counter(); import shaff; print(time.perf_counter() - t)"
# Folders that belong to the source archive alone.
FOREIGN = re.compile(r"(^|/)(tests|benchmarks|docs|paper|cpp)/|\.(cpp|hpp)$")


def main() -> None:
    step, folder = sys.argv[1:]
    {"build": build, "check": check}[step](Path(folder))


def build(folder: Path) -> None:
    """The source archive, and the wheels of this machine with the tag that they have earned."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A later commit has another date: the second build of `check` takes that of the first.
    (folder / DATE).write_text(os.environ["SOURCE_DATE_EPOCH"])
    uv("build", "--quiet", "--sdist", "--out-dir", folder, ROOT)
    (source,) = folder.glob("*.tar.gz")
    for version in BUILT_ON:
        if python := interpreter(version):
            build_wheel(source, python, folder)
        else:
            print(f"No wheel of Python {version}: this machine has none.")


def build_wheel(source: Path, python: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as raw:
        uv("build", "--quiet", "--wheel", "--python", python, "--out-dir", raw, source)
        (wheel,) = Path(raw).glob("*.whl")
        if sys.platform == "linux":
            run(tool("auditwheel"), "repair", "--plat", "auto", "-w", folder, wheel, quiet=True)
        else:
            shutil.move(wheel, folder)


def check(folder: Path) -> None:
    os.environ["SOURCE_DATE_EPOCH"] = (folder / DATE).read_text()
    wheels = sorted(folder.glob("*.whl"))
    for wheel in wheels:
        check_contents(wheel)
    run(tool("twine"), "check", "--strict", *files(folder), quiet=True)
    run(tool("check-wheel-contents"), *wheels)
    for wheel in wheels:
        if "-abi3-" in wheel.name:
            run(tool("abi3audit"), "--strict", "--summary", wheel)
    check_same_bytes(folder)
    for version in TESTED_ON:
        check_on(version, wheels)
    print("All wheels passed.")


def check_contents(wheel: Path) -> None:
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB, sha256 {digest(wheel)}")
    assert size < LARGEST, "too large"
    foreign = [name for name in zipfile.ZipFile(wheel).namelist() if FOREIGN.search(name)]
    assert not foreign, f"the wheel has {foreign}"


def check_same_bytes(folder: Path) -> None:
    """A second build, in other folders, must give the same files."""
    with tempfile.TemporaryDirectory() as again:
        build(Path(again))
        for path in files(folder):
            assert digest(path) == digest(Path(again) / path.name), path.name
            print(f"Built twice, the same bytes: {path.name}")


def check_on(version: str, wheels: list[Path]) -> None:
    python = interpreter(version)
    wheel = next(w for w in wheels if ("-cp311-" in w.name) == (version == "3.11"))
    if python is None:
        print(f"Python {version}: skipped, this machine has none.")
        return
    bare = environment(f"build/venv-wheel-{version}", python, f"{wheel.resolve()}[cli]")
    seconds = min(float(run(bare, "-c", IMPORT_TIME, quiet=True)) for _ in range(3))
    print(f"Python {version}: {wheel.name} is imported in {seconds:.2f} s")
    demonstrate(bare)
    uv("pip", "install", "--quiet", "--python", bare, "--group", "wheel")
    lists = ("@tests/wheel.txt", "@tests/wheel_cli.txt")
    tested = run(bare, "-m", "pytest", "-q", "-p", "no:cacheprovider", *lists, quiet=True)
    print(f"Python {version}: {tested.splitlines()[-1]}")


def environment(folder: str, python: str, *packages: str) -> str:
    """An environment with these packages and what they require, and its interpreter."""
    uv("venv", "--quiet", "--clear", "--python", python, folder)
    inside = str(ROOT / folder / "bin" / "python")
    uv("pip", "install", "--quiet", "--python", inside, *packages)
    return inside


def demonstrate(python: str) -> None:
    """`shaff demo` in an empty folder; without extras of the tests."""
    with tempfile.TemporaryDirectory() as empty:
        run(str(Path(python).parent / "shaff"), "demo", quiet=True, folder=empty)
        written = sorted(path.name for path in Path(empty, "demo-output").iterdir())
    assert "report.html" in written, written
    print(f"shaff demo has written {', '.join(written)}")


def files(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("*.whl")), *folder.glob("*.tar.gz")]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def interpreter(version: str) -> str | None:
    """A Python of this version that is installed here; none is fetched."""
    root = subprocess.run("pyenv root", shell=True, capture_output=True, text=True).stdout.strip()
    found = sorted(Path(root or "/none", "versions").glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def tool(name: str) -> str:
    return str(Path(sysconfig.get_path("scripts")) / name)


def uv(*arguments: object) -> None:
    run(tool("uv"), "--no-progress", "--no-python-downloads", *arguments)


def run(*command: object, quiet: bool = False, folder: Path | str = ROOT) -> str:
    """Output of a command, if it is to be quiet; what failed is shown in any case."""
    # Tools of this environment call each other.
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env={**os.environ, "PATH": path}, text=True,
                          capture_output=quiet)  # fmt: skip
    if done.returncode:
        sys.stdout.flush()
        sys.exit(f"{done.stdout or ''}{done.stderr or ''}\nfailed: {' '.join(words[:3])} ...")
    return done.stdout or ""


if __name__ == "__main__":
    main()
