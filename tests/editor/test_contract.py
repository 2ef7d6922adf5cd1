"""The same cases on the real Neovim and on the editor in memory: the latter cannot drift."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from agent_ide.editor.nvim import NvimEditor
from agent_ide.editor.port import Editor
from agent_ide.errors import EditorError
from agent_ide.model import (
    ClientId,
    NotebookTarget,
    OpenFile,
    Position,
    Proposal,
    Range,
    ReviewId,
    Selection,
)
from tests.support.fake_editor import FakeEditor
from tests.support.hosted import HostThread
from tests.support.neovim import Neovim

T = TypeVar("T")

BEFORE = b"one\ntwo\nthree\n"


class Bench(Protocol):
    """An editor under test, and what a user does in it."""

    editor: Editor

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T: ...
    def open(self, path: Path) -> None: ...
    def type(self, path: Path, text: str) -> None: ...
    def text(self, path: Path) -> str: ...
    def select(self, path: Path, first_line: int, last_line: int) -> None: ...
    def views(self) -> int: ...
    def change_proposal(self, text: str) -> None: ...


class FakeBench:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.editor = self._fake = self._loop.run_until_complete(self._make())

    @staticmethod
    async def _make() -> FakeEditor:
        return FakeEditor()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)

    def open(self, path: Path) -> None:
        self.run(self._fake.open_file(OpenFile(str(path))))

    def type(self, path: Path, text: str) -> None:
        self._fake.buffers[str(path)] = text
        self._fake.dirty.add(str(path))

    def text(self, path: Path) -> str:
        return self._fake.buffers[str(path)]

    def select(self, path: Path, first_line: int, last_line: int) -> None:
        lines = self.text(path).split("\n")[first_line : last_line + 1]
        end = Position(last_line, len(lines[-1].encode()))
        span = Range(Position(first_line, 0), end)
        self._fake.selection = Selection(str(path), span, "\n".join(lines))
        self._fake.notebook = NotebookTarget(str(path), None) if "# %%" in self.text(path) else None

    def views(self) -> int:
        return len(self._fake.views)

    def change_proposal(self, text: str) -> None:
        (review,) = self._fake.views
        self._fake.typed[review] = text

    def close(self) -> None:
        self._loop.close()


class NvimBench:
    def __init__(self, home: Path) -> None:
        address = str(home / "s")
        # a file of Python makes Neovim look for its Python provider, for seconds on a busy machine
        no_provider = ["--cmd", "let g:loaded_python3_provider = 0"]
        self._nvim = Neovim(home, args=["--listen", address, *no_provider])
        self._thread = HostThread(address)
        self._thread.__enter__()
        self.editor = self.editor_in(home)

    def editor_in(self, runtime_dir: Path) -> NvimEditor:
        return self._thread.attach(lambda nvim: NvimEditor(nvim, str(runtime_dir)))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(coroutine)

    def open(self, path: Path) -> None:
        self._nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))

    def type(self, path: Path, text: str) -> None:
        self.open(path)
        lines = text.removesuffix("\n").split("\n")
        self._nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", lines)

    def text(self, path: Path) -> str:
        code = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)"
        return "".join(line + "\n" for line in self._nvim.lua(code, str(path)))

    def select(self, path: Path, first_line: int, last_line: int) -> None:
        self.open(path)
        self._nvim.feed(f"{first_line + 1}GV{last_line + 1}G")

    def views(self) -> int:
        windows = self._nvim.lua(
            "return vim.tbl_map(function(w) return vim.wo[w].diff end, vim.api.nvim_list_wins())"
        )
        return sum(windows) // 2

    def change_proposal(self, text: str) -> None:
        buf = self._nvim.lua("return vim.fn.bufnr('agent-ide://review/1/')")
        lines = text.removesuffix("\n").split("\n")
        self._nvim.lua(
            "local buf, lines = ...; vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines);"
            " vim.bo[buf].endofline = true",
            buf,
            lines,
        )

    def close(self) -> None:
        self._thread.__exit__()
        self._nvim.close()


@pytest.fixture(params=["fake", "nvim"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    home = tmp_path / "home"
    home.mkdir()
    it: FakeBench | NvimBench = FakeBench() if request.param == "fake" else NvimBench(home)
    yield it
    it.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\nthree\n")
    return path


def proposal(path: Path, text: str) -> Proposal:
    return Proposal("claude", "Claude Code", ClientId("claude-1"), str(path), "tab", text)


@pytest.mark.parametrize("frontmost", [True, False])
def test_open(bench: Bench, file: Path, frontmost: bool) -> None:
    opened = bench.run(bench.editor.open_file(OpenFile(str(file), make_frontmost=frontmost)))
    assert (opened.language_id, opened.line_count) == ("python", 3)


def test_open_nothing(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(EditorError):
        bench.run(bench.editor.open_file(OpenFile(str(tmp_path / "gone.py"))))


def test_save(bench: Bench, file: Path) -> None:
    saved = bench.run(bench.editor.save_file(str(file)))
    assert (saved.found, saved.saved) == (False, False)
    bench.type(file, "changed\n")
    saved = bench.run(bench.editor.save_file(str(file)))
    assert (saved.found, saved.saved) == (True, True)
    assert file.read_text() == "changed\n"


def test_reload(bench: Bench, file: Path) -> None:
    bench.open(file)
    file.write_text("written by the agent\n")
    bench.run(bench.editor.reload_file(str(file), BEFORE))
    assert bench.text(file) == "written by the agent\n"


def test_reload_of_a_changed_buffer_loses_nothing(bench: Bench, file: Path) -> None:
    bench.type(file, "mine\n")
    file.write_text("written by the agent\n")
    bench.run(bench.editor.reload_file(str(file), BEFORE))
    for line in ("mine\n", "written by the agent\n"):
        assert line in bench.text(file)


def test_reload_of_a_file_that_is_not_open(bench: Bench, file: Path) -> None:
    bench.run(bench.editor.reload_file(str(file), BEFORE))


def test_merge_into_an_unchanged_buffer(bench: Bench, file: Path) -> None:
    bench.open(file)
    conflicts = bench.run(
        bench.editor.merge_into_buffer(str(file), "one\ntwo\nthree\n", "one\nTWO\nthree\n")
    )
    assert conflicts == 0
    assert bench.text(file) == "one\nTWO\nthree\n"
    assert file.read_text() == "one\ntwo\nthree\n", "unsaved"


def test_selection(bench: Bench, file: Path) -> None:
    bench.open(file)
    bench.select(file, 0, 1)
    selection = bench.run(bench.editor.read_selection())
    assert selection is not None
    assert (selection.path, selection.text) == (str(file), "one\ntwo")
    assert selection.range == Range(Position(0, 0), Position(1, 3))


def test_notebook(bench: Bench, tmp_path: Path, file: Path) -> None:
    bench.open(file)
    assert bench.run(bench.editor.read_notebook()) is None
    script = tmp_path / "cells.py"
    script.write_text("# %%\nprint(1)\n")
    bench.open(script)
    bench.select(script, 0, 0)
    notebook = bench.run(bench.editor.read_notebook())
    assert notebook is not None
    assert notebook.path == str(script)


@pytest.mark.parametrize("size", [10, 300_000])
def test_review_is_shown_and_closed(bench: Bench, file: Path, size: int) -> None:
    """A large text goes through a file."""
    bench.open(file)
    show = bench.editor.show_review(ReviewId(1), proposal(file, "é\n" * size), is_new=False)
    bench.run(show)
    assert bench.views() == 1
    bench.run(bench.editor.close_review(ReviewId(1), "rejected"))
    assert bench.views() == 0
    bench.run(bench.editor.close_review(ReviewId(1), "rejected"))
    bench.run(bench.editor.close_review(ReviewId(99), "withdrawn"))


def test_review_closed_before_it_is_shown(bench: Bench, file: Path) -> None:
    """Nobody closes it afterwards."""

    async def show_and_close() -> None:
        text = proposal(file, "é\n" * 300_000)
        showing = asyncio.ensure_future(bench.editor.show_review(ReviewId(1), text, is_new=False))
        await asyncio.sleep(0)
        await bench.editor.close_review(ReviewId(1), "withdrawn")
        with pytest.raises(EditorError, match="closed before it was shown"):
            await showing

    bench.open(file)
    bench.run(show_and_close())
    assert bench.views() == 0


def test_no_room_for_a_large_text(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    bench = NvimBench(home)
    bench.editor = bench.editor_in(home / "gone")
    bench.open(file)
    with pytest.raises(EditorError, match="did not reach Neovim"):
        bench.run(
            bench.editor.show_review(ReviewId(1), proposal(file, "x\n" * 300_000), is_new=False)
        )
    bench.close()


def test_hidden_review_comes_again(bench: Bench, file: Path) -> None:
    bench.open(file)
    shown = proposal(file, "x\n")
    bench.run(bench.editor.show_review(ReviewId(1), shown, is_new=False))
    bench.run(bench.editor.close_review(ReviewId(1), "hidden"))
    assert bench.views() == 0
    bench.run(bench.editor.show_review(ReviewId(1), shown, is_new=False))
    assert bench.views() == 1


def test_review_whose_verdict_did_not_count(bench: Bench, file: Path) -> None:
    bench.open(file)
    bench.run(bench.editor.show_review(ReviewId(1), proposal(file, "x\n"), is_new=False))
    bench.run(bench.editor.resume_review(ReviewId(1)))
    assert bench.views() == 1
    bench.run(bench.editor.resume_review(ReviewId(99)))


@pytest.mark.parametrize("size", [10, 300_000])
def test_the_text_in_a_review_is_read(bench: Bench, file: Path, size: int) -> None:
    bench.open(file)
    shown = proposal(file, "é\n" * size + "no line break")
    bench.run(bench.editor.show_review(ReviewId(1), shown, is_new=False))
    assert bench.run(bench.editor.read_review(ReviewId(1))) == shown.text
    bench.change_proposal("mine\n")
    assert bench.run(bench.editor.read_review(ReviewId(1))) == "mine\n"
    assert bench.run(bench.editor.read_review(ReviewId(99))) is None


def test_paste_where_no_agent_runs(bench: Bench) -> None:
    with pytest.raises(EditorError):
        bench.run(bench.editor.paste("claude", "@a.py "))


def test_kept_text(bench: Bench, file: Path) -> None:
    bench.run(bench.editor.keep_text(proposal(file, "x"), "mine\n"))


def test_no_file_is_left_in_the_runtime_folder(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    bench = NvimBench(home)
    before = set(os.listdir(home))
    bench.open(file)
    bench.run(bench.editor.show_review(ReviewId(1), proposal(file, "x\n" * 300_000), is_new=False))
    bench.run(bench.editor.close_review(ReviewId(1), "rejected"))
    assert set(os.listdir(home)) == before
    bench.close()
