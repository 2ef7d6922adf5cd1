"""The encoding of a selection, held against Neovim's own `y`.

Random texts, options and keys; each case selects, asks region.lua, then yanks. A case is a handful
of bytes, so that thousands take seconds and a failing one still shrinks. What may differ from `y`
is named here; the first, second and last are the seed's:
  * a block is the contiguous span between its corners: it is yanked charwise,
  * 'virtualedit' all: `y` adds the spaces of virtual columns,
  * 'selection' old up to an empty line: `y` leaves the last line break out, or takes whole lines,
  * composing characters under 'selection' exclusive before Neovim 0.11.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.neovim import Neovim

SELECTIONS = ["inclusive", "exclusive", "old"]
VIRTUAL = ["", "", "all", "block", "onemore", "all,onemore", "insert"]
MODES = ["v", "V", "\x16", "v", "gh", "gH", "g\x08"]
KEYS = [
    "l",
    "h",
    "j",
    "k",
    "$",
    "0",
    "w",
    "b",
    "e",
    "o",
    "O",
    "G",
    "gg",
    "3l",
    "5|",
    "g_",
    "iw",
    "ap",
]
COMPOSING = ["\u0301", "\u0334", "\u200d", "\ufe0f"]
TOKENS = [
    *("a", "b", " ", ".", "\t", "é", "日", "\x01", "\x00", "\x7f", "\u0085", "\u200b", "\u00a0"),
    *(
        "e\u0301",
        "a\u0334\u0301",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "🇩🇪",
        "🇫",
        "각",
        "\u1100\u1161",
        "لا",
    ),
    *COMPOSING,
    *("\udcff", "\udc80", "\udcc3", "\udce6\udc97", "\udcf0\udc9f"),
    *["\n"] * 7,
]

CHECK = """
local region = require("agent_ide.region")
local function normal(keys) pcall(vim.cmd.normal, { keys, bang = true }) end
local function run(case)
  normal("\\27")
  vim.o.virtualedit, vim.o.selection = "", case.selection
  vim.api.nvim_buf_set_lines(0, 0, -1, true, case.lines)
  vim.fn.cursor(1 + case.line % #case.lines, case.col + 1)
  vim.o.virtualedit = case.virtual
  normal(case.mode)
  if case.mode:sub(1, 1) == "g" then normal("\\7") end
  for _, key in ipairs(case.keys) do normal(key) end
  local function select() if case.mode:sub(1, 1) == "g" then normal("\\7") end end
  select()
  local out = { mode = vim.api.nvim_get_mode().mode, region = region.current() }
  out.text = region.text(0, out.region)
  out.places = { vim.fn.getpos("v"), vim.fn.getpos(".") }
  select()
  if vim.fn.mode() == "\\22" then normal("v") end
  vim.fn.setreg('"', "")
  normal("y")
  local yanked = vim.tbl_map(function(line)
    return (line:gsub("\\n", "\\0"))
  end, vim.fn.getreg('"', 1, true))
  out.yanked, out.regtype = table.concat(yanked, "\\n"), vim.fn.getregtype('"')
  out.start = vim.fn.getpos("'[")
  local marks = region.last_visual()
  out.marks = vim.deep_equal(marks, out.region) or marks
  return out
end
return vim.tbl_map(run, ...)
"""


@dataclass(frozen=True)
class Case:
    selection: str
    virtual: str
    mode: str
    line: int
    col: int
    keys: list[str]
    lines: list[str]


def decode(raw: bytes) -> Case:
    """A case from bytes; fewer and smaller ones make a simpler case."""
    head = raw[:6].ljust(6, b"\0")
    count = head[5] % 6
    keys = [KEYS[byte % len(KEYS)] for byte in raw[6 : 6 + count]]
    text = "".join(TOKENS[byte % len(TOKENS)] for byte in raw[6 + count :])
    return Case(
        selection=SELECTIONS[head[0] % len(SELECTIONS)],
        virtual=VIRTUAL[head[1] % len(VIRTUAL)],
        mode=MODES[head[2] % len(MODES)],
        line=head[3],
        col=head[4] % 24,
        keys=keys,
        lines=text.split("\n"),
    )


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class Checked:
    """One case with what Neovim said, as bytes."""

    def __init__(self, case: Case, out: dict[str, Any], new: bool) -> None:
        self.case = case
        self.new = new
        self.out = out
        self.lines = [as_bytes(line) for line in case.lines]
        self.text = as_bytes(out["text"])
        self.yanked = as_bytes(out["yanked"])
        places = sorted((line - 1, col - 1, off) for _, line, col, off in out["places"])
        self.first, self.last = places[0], places[1]
        self.at_end = self.last[1] >= len(self.lines[self.last[0]])
        self.several = self.first != self.last
        self.visual = {"s": "v", "S": "V", "\x13": "\x16"}.get(out["mode"], out["mode"])
        self.all = case.virtual == "all"
        self.exclusive = case.selection == "exclusive" and self.several

    def check(self) -> None:
        region = self.out["region"]
        start = (region["start_line"], region["start_character"])
        end = (region["end_line"], region["end_character"])
        assert start == (self.first[0], 0 if self.visual == "V" else self.first[1])
        assert self.text == self.between(start, end)
        assert end == self.expected_end(start)
        assert self.agrees(), (self.text, self.yanked)
        if self.visual != "\x16":
            # what is left of Visual mode; a block was yanked charwise
            assert self.out["marks"] is True, self.out["marks"]

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        lines = self.lines[start[0] : end[0] + 1]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][start[1] :]
        return b"\n".join(lines)

    def expected_end(self, start: tuple[int, int]) -> tuple[int, int]:
        """Where the text ends; character 1 on an empty line that counts as selected."""
        line, column = start[0] + self.text.count(b"\n"), len(self.text.rpartition(b"\n")[2])
        column += start[1] if line == start[0] else 0
        on_empty = self.lines[self.last[0]] == b"" and line == self.last[0]
        if on_empty and not (self.exclusive and self.visual == "v" and self.last[2] == 0):
            return line, 1
        return line, column

    def agrees(self) -> bool:
        """Whether `y` took the same text, the seed's exceptions apart."""
        expected = self.yanked
        break_follows = self.last[0] + 1 < len(self.lines)
        if self.visual == "V":
            return self.text == expected + (
                b"\n" if not self.lines[self.last[0]] and break_follows else b""
            )
        block_in_virtual = self.visual == "\x16" and self.case.virtual != ""
        if self.first[2] or self.last[2] or self.all or block_in_virtual:
            return self.agrees_virtually()
        if self.case.selection == "old" and self.visual != "V" and not self.lines[self.last[0]]:
            return self.agrees_exclusive_linewise()
        if self.visual == "\x16" and self.at_end and not self.exclusive:
            # the block stays on its last row; charwise takes the line break
            expected = (
                expected.removesuffix(b"\n")
                if self.case.selection != "old" and break_follows
                else expected
            )
        if self.text == expected:
            return True
        skipped = self.text.removeprefix(expected).decode("utf-8", "surrogateescape")
        return (
            not self.new
            and self.exclusive
            and self.text.startswith(expected)
            and skipped in COMPOSING
        )

    def agrees_exclusive_linewise(self) -> bool:
        """'selection' old up to an empty line: `y` follows *exclusive-linewise* as motions do."""
        if self.out["regtype"] == "V":
            return (self.yanked + b"\n").endswith(self.text)
        return self.yanked == self.text.removesuffix(b"\n")

    def agrees_virtually(self) -> bool:
        """`y` takes cells: spaces for a part of a wide character, and after the line's end."""
        if self.visual == "\x16":
            return True
        # only the first and the last character can be taken in part
        inner = self.text.decode("utf-8", "surrogateescape")[1:-1]
        return self.yanked.strip(b" ") in self.text and as_bytes(inner.strip()) in self.yanked


@pytest.fixture(scope="module")
def nvim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    with Neovim(tmp_path_factory.mktemp("nvim")) as nvim:
        yield nvim


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(st.binary(min_size=6, max_size=40), min_size=40, max_size=60))
def test_a_selection_is_what_y_takes(nvim: Neovim, raws: list[bytes]) -> None:
    new = bool(nvim.eval("has('nvim-0.11')"))
    cases = [decode(raw) for raw in raws]
    outs = nvim.lua(CHECK, [vars(case) for case in cases])
    for case, out in zip(cases, outs, strict=True):
        try:
            Checked(case, out, new).check()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{case}\n{out}") from error
