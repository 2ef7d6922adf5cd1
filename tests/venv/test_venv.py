"""What the builder of a venv decides by itself: which pins, which pip."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent_ide_venv.job import InstallError, chosen, without_password
from agent_ide_venv.with_pip import fetch_pip
from tests.support.neovim import REPO
from tests.support.wheels import pip_wheel

LOCK = """\
# made by hand
one==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
two==2.0 ; sys_platform == 'darwin' \\
    --hash=sha256:bb
three==3.0 \\
    --hash=sha256:cc
"""


class TestPins:
    def test_an_entry_keeps_its_hashes(self) -> None:
        assert chosen(LOCK, ["two"], []) == (
            "two==2.0 ; sys_platform == 'darwin' \\\n    --hash=sha256:bb\n"
        )

    def test_the_rest_without_some(self) -> None:
        assert chosen(LOCK, [], ["one", "two"]) == "three==3.0 \\\n    --hash=sha256:cc\n"

    def test_an_unknown_name_is_named(self) -> None:
        with pytest.raises(InstallError, match="does not hold four"):
            chosen(LOCK, ["one", "four"], [])

    @pytest.mark.parametrize(
        "name", ["requirements.lock", "requirements-notebook.lock", "requirements-dev.lock"]
    )
    def test_the_locks_are_complete_and_name_no_host(self, name: str) -> None:
        text = (REPO / name).read_text()
        assert chosen(text, [], []).count("==") == text.count("==") > 10
        assert "://" not in text

    def test_the_locks_agree(self) -> None:
        runtime, notebook, dev = (
            {line.split()[0] for line in (REPO / name).read_text().splitlines() if "==" in line}
            for name in ("requirements.lock", "requirements-notebook.lock", "requirements-dev.lock")
        )
        assert runtime <= notebook <= dev


def test_a_password_is_not_shown() -> None:
    assert (
        without_password("at https://me:secret@host/simple now") == "at https://***@host/simple now"
    )


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A package index on loopback that serves tmp_path/simple."""
    (tmp_path / "simple" / "pip").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/simple"
    server.shutdown()
    thread.join()
    server.server_close()


class TestPipFromAnIndex:
    """For a Python that came without pip, as Debian's does without python3-venv."""

    def offer(self, tmp_path: Path, digest: str) -> None:
        files = tmp_path / "files"
        files.mkdir()
        (files / "pip-9.0-py3-none-any.whl").write_bytes(b"older")
        (files / "pip-99.10-py3-none-any.whl").write_bytes(pip_wheel().read_bytes())
        links = "".join(
            f'<a href="../../files/pip-{name}">x</a>'
            for name in (
                "9.0-py3-none-any.whl",
                f"99.10-py3-none-any.whl#sha256={digest}",
                "99.11.tar.gz",
            )
        )
        (tmp_path / "simple" / "pip" / "index.html").write_text(links)

    def test_the_newest_wheel_is_taken(self, tmp_path: Path, index: str) -> None:
        content = pip_wheel().read_bytes()
        self.offer(tmp_path, hashlib.sha256(content).hexdigest())
        path = Path(fetch_pip(index, str(tmp_path)))
        assert path.name == "pip-99.10-py3-none-any.whl"
        assert path.read_bytes() == content

    def test_another_file_than_promised_is_refused(self, tmp_path: Path, index: str) -> None:
        self.offer(tmp_path, "0" * 64)
        with pytest.raises(InstallError, match="not the one it promised"):
            fetch_pip(index, str(tmp_path))

    def test_an_index_without_pip_is_named(self, tmp_path: Path, index: str) -> None:
        with pytest.raises(InstallError, match="holds no pip"):
            fetch_pip(index, str(tmp_path))

    def test_an_index_that_does_not_answer_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InstallError, match="could not be fetched from"):
            fetch_pip("http://127.0.0.1:9/simple", str(tmp_path))
