"""Files that an agent opens and saves, in a real Neovim."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim, wait_until

CODE = "import os\n\ndef hello():\n    return {\n        'é': 1,\n    }\n\nprint(1)\n"

NAMES = [
    "a b.py",
    "a#%.py",
    "a|b`c.py",
    "$(x).py",
    "*?[a].py",
    "é.py",
    "a\nb.py",
    "-x.py",
    "+.py",
    "~.py",
]


class Bed:
    def __init__(self, home: Path) -> None:
        self.nvim = Neovim(home / "nvim", size=(120, 40))
        self.nvim.lua(
            "_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end"
        )
        self.nvim.play_host()
        self.project = home / "project"
        self.project.mkdir()
        self.file = self.project / "code.py"
        self.file.write_text(CODE)
        self.user = self.project / "user.txt"
        self.user.write_text("the user's\n")
        self.nvim.command(f"edit {self.user}")

    def open(self, path: Path | str, **more: Any) -> Any:
        args = {
            "path": str(path),
            "preview": False,
            "make_frontmost": True,
            "select_to_end_of_line": False,
            **more,
        }
        return self.nvim.call("files.open", args)

    def refusal(self, call: str, args: dict[str, Any]) -> str:
        number = self.nvim.begin_call(call, args)
        reply = wait_until(lambda: self.nvim.reply(number), "the answer")
        assert reply is not None
        assert not reply[0]
        return str(reply[1])

    def windows(self) -> list[tuple[str, bool]]:
        """(file, current) of each window."""
        return [
            (Path(name).name, current)
            for name, current in self.nvim.lua(
                """
                return vim.tbl_map(function(win)
                  local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
                  return { name, win == vim.api.nvim_get_current_win() }
                end, vim.api.nvim_tabpage_list_wins(0))
                """
            )
        ]

    def selected(self) -> str:
        """The Visual selection, as `y` takes it; leaves Visual mode."""
        assert self.nvim.mode() == "v"
        self.nvim.feed("y")
        return str(self.nvim.eval('@"'))

    def told(self) -> list[str]:
        return [str(line).removeprefix("agent_ide: ") for line in self.nvim.lua("return _G.told")]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path)
    with bed.nvim:
        yield bed


@pytest.fixture(scope="module")
def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    bed = Bed(tmp_path_factory.mktemp("files"))
    with bed.nvim:
        yield bed


@pytest.fixture
def shared(one_for_all: Bed) -> Bed:
    """A Neovim for many small cases, as if it was new."""
    one_for_all.nvim.command("set selection=inclusive | tabonly | only | silent %bwipeout!")
    one_for_all.nvim.command(f"edit {one_for_all.user}")
    return one_for_all


# -- opening -------------------------------------------------------------------------------


def test_opened_in_the_users_window(bed: Bed) -> None:
    value = bed.open(bed.file)
    assert value == {"language_id": "python", "line_count": 8}
    assert bed.windows() == [("code.py", True)]
    assert bed.nvim.eval("[&filetype, &buflisted]") == ["python", 1]
    bed.nvim.feed("<C-o>")
    assert bed.windows() == [("user.txt", True)]


def test_a_modified_buffer_stays_when_another_is_opened(bed: Bed) -> None:
    bed.nvim.command("set nohidden")
    bed.nvim.feed("ccmine<Esc>")
    bed.open(bed.file)
    assert bed.nvim.lua("return vim.bo[vim.fn.bufnr(...)].modified", str(bed.user))
    assert bed.user.read_text() == "the user's\n"


def test_loaded_without_a_window(bed: Bed) -> None:
    bed.nvim.command("autocmd BufReadPost *.py let g:read = expand('<afile>:t')")
    value = bed.open(bed.file, make_frontmost=False)
    assert value == {"language_id": "python", "line_count": 8}
    assert bed.windows() == [("user.txt", True)]
    assert bed.nvim.eval("g:read") == "code.py"
    assert bed.nvim.lua("return vim.bo[vim.fn.bufnr(...)].buflisted", str(bed.file))


def test_a_file_that_is_open_is_shown_where_it_is(bed: Bed) -> None:
    bed.nvim.command(f"split {bed.file} | wincmd w")
    bed.open(bed.file)
    assert bed.windows() == [("code.py", True), ("user.txt", False)]


@pytest.mark.parametrize(
    ("start", "end", "selected"),
    [
        ("hello", None, "hello"),
        ("def hello", "}", "def hello():\n    return {\n        'é': 1,\n    }"),
        ("hello():\n    return", None, "hello():\n    return"),
        ("hello():\r\n    return", None, "hello():\n    return"),
        ("'é", "é", "'é"),
        ("import", "not there", "import"),
        ("print(1)", "print(1)", "print(1)"),
        ("import os\n", None, "import os"),
        ("[a-z]", None, None),
        ("not there", "hello", None),
        ("", "hello", None),
    ],
)
@pytest.mark.parametrize("selection", ["inclusive", "exclusive"])
def test_a_text_is_selected(
    shared: Bed, start: str, end: str | None, selected: str | None, selection: str
) -> None:
    shared.nvim.command(f"set selection={selection}")
    more = {"end_text": end} if end is not None else {}
    shared.open(shared.file, start_text=start, **more)
    if selected is None:
        assert shared.nvim.mode() == "n"
    else:
        assert shared.selected() == selected


def test_the_selection_goes_on_to_the_end_of_the_line(bed: Bed) -> None:
    bed.open(bed.file, start_text="def", end_text="return", select_to_end_of_line=True)
    assert bed.selected() == "def hello():\n    return {"


def test_visual_mode_is_left_first(bed: Bed) -> None:
    bed.nvim.feed("vl")
    bed.open(bed.file, start_text="import")
    assert bed.selected() == "import"
    bed.nvim.feed("V")
    bed.open(bed.user)
    assert bed.nvim.mode() == "n"


def test_select_mode_by_command_is_visual_mode_here(bed: Bed) -> None:
    bed.nvim.command("set selectmode=cmd,mouse,key")
    bed.open(bed.file, start_text="import")
    assert bed.selected() == "import"


def test_a_closed_fold_is_opened(bed: Bed) -> None:
    bed.open(bed.file)
    bed.nvim.command("setlocal foldmethod=manual | 3,6fold")
    bed.open(bed.file, start_text="'é'")
    assert bed.nvim.eval("foldclosed('.')") == -1


def test_who_types_elsewhere_keeps_the_cursor(bed: Bed) -> None:
    bed.nvim.command("botright vertical split | terminal cat")
    bed.nvim.feed("i")
    bed.open(bed.file, start_text="hello", end_text="return")
    assert bed.nvim.mode() == "t"
    assert bed.windows()[0] == ("code.py", False)
    bed.nvim.feed("<C-\\><C-n><C-w>tgv")
    assert bed.selected() == "hello():\n    return"


def test_previews_share_a_window(bed: Bed) -> None:
    bed.open(bed.file, preview=True)
    assert bed.windows() == [("code.py", True), ("user.txt", False)]
    other = bed.project / "other.py"
    other.write_text("x\n")
    bed.open(other, preview=True)
    assert bed.windows() == [("other.py", True), ("user.txt", False)]
    # what is not a preview does not go there
    bed.open(bed.file)
    assert bed.windows() == [("other.py", False), ("code.py", True)]


UNFIT = {
    "terminal": "terminal cat",
    "tree": "enew | setlocal buftype=nofile filetype=NvimTree winfixwidth",
    "quickfix": "copen | only",
    "help": "enew | setlocal buftype=help nomodifiable",
    "fixed": "setlocal winfixbuf",
    "would be wiped": "setlocal bufhidden=wipe",
    "diff": "diffthis",
}


@pytest.mark.parametrize("kind", UNFIT)
def test_an_unfit_window_is_not_taken(bed: Bed, kind: str) -> None:
    bed.nvim.command(UNFIT[kind])
    before = bed.windows()[0][0]
    bed.open(bed.file)
    assert sorted(bed.windows()) == sorted([("code.py", True), (before, False)])


def test_a_floating_window_is_not_taken(bed: Bed) -> None:
    bed.nvim.lua(
        "vim.api.nvim_open_win(vim.api.nvim_create_buf(true, false), true,"
        " { relative = 'editor', row = 1, col = 1, width = 20, height = 3 })"
    )
    bed.open(bed.file)
    assert bed.windows() == [("code.py", True), ("", False)]


@pytest.mark.parametrize("frontmost", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_not_simple(shared: Bed, name: str, frontmost: bool) -> None:
    file = shared.project / name
    file.write_text(CODE)
    value = shared.open(file, make_frontmost=frontmost)
    assert value == {"language_id": "python", "line_count": 8}
    names = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
    assert str(file) in shared.nvim.lua(names)


@pytest.mark.parametrize(
    "path", ["term://x", "https://example.org/a", "relative.txt", "fugitive://x", "", "/\0"]
)
def test_what_is_no_path_is_refused(shared: Bed, path: str) -> None:
    args = {"path": path, "preview": False, "make_frontmost": True}
    assert "not an absolute path" in shared.refusal("files.open", args)


def test_a_folder_or_nothing_is_refused(bed: Bed) -> None:
    args = {"preview": False, "make_frontmost": False}
    assert "folder" in bed.refusal("files.open", {"path": str(bed.project), **args})
    assert "no file" in bed.refusal("files.open", {"path": str(bed.project / "no"), **args})


def test_what_is_no_file_is_refused(bed: Bed) -> None:
    """A pipe would stop Neovim until somebody writes into it."""
    pipe = bed.project / "pipe"
    os.mkfifo(pipe)
    args = {"preview": False, "make_frontmost": True, "select_to_end_of_line": False}
    assert "fifo" in bed.refusal("files.open", {"path": str(pipe), **args})
    assert "char" in bed.refusal("files.open", {"path": "/dev/zero", **args})


def test_the_same_file_by_another_name_is_one_buffer(bed: Bed) -> None:
    link = bed.project / "link"
    link.symlink_to(bed.project)
    bed.open(bed.file)
    bed.open(link / "code.py", start_text="import")
    assert bed.windows() == [("code.py", True)]
    names = bed.nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert len([name for name in names if name.endswith("code.py")]) == 1


@pytest.mark.parametrize("frontmost", [True, False])
def test_a_swap_file_raises_no_question(bed: Bed, tmp_path: Path, frontmost: bool) -> None:
    swap = tmp_path / "swap"
    swap.mkdir()
    bed.nvim.command(f"set directory={swap}// updatecount=200")
    (swap / (str(bed.file).replace("/", "%") + ".swp")).write_bytes(b"b0nothing")
    value = bed.open(bed.file, make_frontmost=frontmost)
    assert value == {"language_id": "python", "line_count": 8}
    assert bed.nvim.mode() == "n"


# -- saving --------------------------------------------------------------------------------


def test_saved_with_its_autocommands(bed: Bed) -> None:
    bed.nvim.command("autocmd BufWritePre *.txt call append('$', 'formatted')")
    bed.nvim.feed("ccmine<Esc>")
    bed.open(bed.file)
    value = bed.nvim.call("files.save", {"path": str(bed.user)})
    assert value == {"found": True, "saved": True, "message": "Document saved successfully"}
    assert bed.user.read_text() == "mine\nformatted\n"
    assert bed.windows() == [("code.py", True)]


def test_what_is_not_open_is_not_found(bed: Bed) -> None:
    value = bed.nvim.call("files.save", {"path": str(bed.file)})
    assert value == {"found": False, "saved": False, "message": f"Document not open: {bed.file}"}


def test_what_is_saved_already_is_not_written(bed: Bed) -> None:
    before = bed.user.stat().st_mtime_ns
    assert bed.nvim.call("files.save", {"path": str(bed.user)})["saved"] is True
    assert bed.user.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("setlocal readonly", "E45"),
        ("autocmd BufWriteCmd <buffer> throw 'E999: no'", "E999"),
        ("autocmd BufWritePre <buffer> call confirm('really?') | throw 'E998: no'", "E998"),
        ("file /proc/version", "E"),
    ],
)
def test_a_failed_write_is_reported(bed: Bed, command: str, reason: str) -> None:
    bed.nvim.feed("ccmine<Esc>")
    bed.nvim.command(command)
    path = bed.nvim.eval("expand('%:p')")
    value = bed.nvim.call("files.save", {"path": path})
    assert (value["found"], value["saved"]) == (True, False)
    assert reason in value["message"]
    assert bed.nvim.mode() == "n"
    assert bed.user.read_text() == "the user's\n"


def test_a_file_that_changed_on_disk_is_not_overwritten(bed: Bed) -> None:
    bed.nvim.feed("ccmine<Esc>")
    bed.user.write_text("somebody else's, longer\n")
    value = bed.nvim.call("files.save", {"path": str(bed.user)})
    assert value["saved"] is False
    assert "changed on disk" in value["message"]
    assert bed.user.read_text() == "somebody else's, longer\n"
    assert bed.nvim.mode() == "n"
    assert bed.nvim.eval("getline(1)") == "mine"


def test_saved_while_the_user_types(bed: Bed) -> None:
    bed.nvim.feed("ccmi")
    assert bed.nvim.call("files.save", {"path": str(bed.user)})["saved"] is True
    assert bed.nvim.mode() == "i"
    bed.nvim.feed("ne<Esc>")
    assert bed.nvim.eval("getline(1)") == "mine"
