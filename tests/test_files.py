"""Writing whole files, through links, and into pipes, which must stay pipes."""

import os
import socket
import stat
import sys
import threading

import pytest

from shaff._util.files import check_target, replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such files on Windows")


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    return path


@pytest.fixture
def received(pipe):
    """What a reader at the other end of the pipe gets; call it when all is written."""
    content = []
    reader = threading.Thread(target=lambda: content.append(pipe.read_bytes()), daemon=True)
    reader.start()

    def received():
        reader.join(timeout=10)
        return content[0]

    return received


def write(path, content=b"whole"):
    with replacing(path) as temporary:
        assert temporary.suffix == path.suffix
        temporary.write_bytes(content)


def test_a_pipe_is_written_into_and_stays_a_pipe(pipe, received):
    large = b"0123456789" * 50_000  # more than the buffer of a pipe
    write(pipe, large)
    assert received() == large
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [child.name for child in pipe.parent.iterdir()] == ["pipe.json"]


def test_a_link_to_a_pipe_reaches_it(pipe, received, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(pipe)
    write(link)
    assert received() == b"whole"
    assert link.is_symlink()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_failed_write_leaves_a_pipe_untouched(pipe):
    with pytest.raises(FileNotFoundError), replacing(pipe) as temporary:
        (temporary / "no folder").write_bytes(b"ha")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_links_to_files_are_followed(tmp_path):
    real, link, free = tmp_path / "real.txt", tmp_path / "link.txt", tmp_path / "free.txt"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write(link)
    assert link.is_symlink()
    assert real.read_bytes() == b"whole"
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to(free)
    write(dangling)
    assert dangling.is_symlink()
    assert free.read_bytes() == b"whole"


def test_sockets_and_folders_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.json")
        with pytest.raises(ValueError, match=r"cannot write to s\.json: it is a socket"):
            check_target("s.json")
        assert stat.S_ISSOCK(os.stat("s.json").st_mode)
    with pytest.raises(ValueError, match="it is a folder"), replacing(tmp_path):
        pass


def test_disks_are_refused(tmp_path, monkeypatch):
    """A regular file that calls itself a block device: no real one is ever opened."""
    path = tmp_path / "disk"
    path.write_bytes(b"old")
    monkeypatch.setattr("shaff._util.files.stat.S_ISBLK", lambda mode: True)
    with pytest.raises(ValueError, match="it is a disk"), replacing(path):
        pass
    assert path.read_bytes() == b"old"
