"""What is handed to an agent: mentions of files and lines, text into its prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import REVIEW, push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}
TEXT = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    """A desk to which Claude is connected from elsewhere."""
    with bed(tmp_path) as desk:
        push_status(desk.nvim, clients=[CLIENT])
        yield desk


def mention(desk: Bed) -> dict[str, Any]:
    payload: dict[str, Any] = desk.nvim.wait_event("mention")
    return payload


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("ClaudeCodeSend", (2, 2)),
        ("2,3ClaudeCodeSend", (1, 2)),
        ("%ClaudeCodeSend", (0, 3)),
        ("1ClaudeCodeSend", (0, 0)),
    ],
)
def test_send_mentions_lines(desk: Bed, command: str, lines: tuple[int, int]) -> None:
    path = desk.edit("a é #%.txt", TEXT)
    desk.nvim.command("3")
    desk.nvim.command(command)
    start, end = lines
    expected = {"agent": "claude", "path": str(path), "start_line": start, "end_line": end}
    assert mention(desk) == expected
    # connected from elsewhere: no terminal is opened for it
    assert desk.terminal_buffer() == 0


@pytest.mark.parametrize("keys", ["Vj", "vjl", "<C-v>j", "Gk<C-v>kk"])
@pytest.mark.parametrize("way", ["<Cmd>ClaudeCodeSend<CR>", ":ClaudeCodeSend<CR>", "<Plug>"])
def test_send_from_visual_mode(desk: Bed, keys: str, way: str) -> None:
    desk.edit("a.txt", TEXT)
    desk.nvim.command("2")
    if way == "<Plug>":
        desk.nvim.command("xmap gs <Plug>(ClaudeCodeSend)")
    else:
        desk.nvim.command(f"xnoremap gs {way}")
    desk.nvim.feed(keys + "gs")
    sent = mention(desk)
    expected = (0, 2) if keys.startswith("G") else (1, 2)
    assert (sent["start_line"], sent["end_line"]) == expected
    assert desk.nvim.mode() == "n"


@pytest.mark.parametrize(
    ("prepare", "problem"),
    [
        ("enew", "no name yet"),
        ("edit never-written.txt", "not on disk yet"),
        ("enew | setlocal buftype=nofile", "shows no file"),
        ("edit oil:///tmp/", "shows no file"),
    ],
)
def test_what_is_no_file_is_refused_with_the_reason(desk: Bed, prepare: str, problem: str) -> None:
    desk.nvim.command(prepare)
    desk.nvim.command("ClaudeCodeSend")
    assert problem in desk.told()[0]
    assert desk.nvim.named("mention") == []


def test_what_must_not_be_shared_is_refused(desk: Bed) -> None:
    desk.edit(".env", "SECRET=1\n")
    desk.nvim.command("ClaudeCodeSend")
    desk.nvim.command("ClaudeCodeAdd .env")
    assert [".env is not sent" in message for message in desk.told()] == [True, True]
    assert desk.nvim.named("mention") == []


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("sub/b.txt", None),
        ("sub/b.txt 2", (1, 1)),
        ("sub/b.txt 2 3", (1, 2)),
        ("./sub/b.txt", None),
        ("$HERE/sub/b.txt", None),
    ],
)
def test_add_mentions_a_path(desk: Bed, arguments: str, lines: tuple[int, int] | None) -> None:
    (desk.project / "sub").mkdir()
    (desk.project / "sub/b.txt").write_text(TEXT)
    desk.nvim.command(f"let $HERE = '{desk.project}'")
    desk.nvim.command(f"ClaudeCodeAdd {arguments}")
    sent = mention(desk)
    assert sent["path"].replace("/./", "/") == str(desk.project / "sub/b.txt")
    assert (sent.get("start_line"), sent.get("end_line")) == (lines or (None, None))


def test_add_takes_folders_odd_names_and_the_current_file(desk: Bed) -> None:
    path = desk.edit("a é #%.txt", TEXT)
    (desk.project / "sub").mkdir()
    desk.nvim.command("ClaudeCodeAdd sub/")
    assert mention(desk)["path"] == str(desk.project / "sub")
    desk.nvim.command("ClaudeCodeAdd a\\ é\\ #%.txt")
    assert mention(desk)["path"] == str(path)
    desk.nvim.events.clear()
    desk.nvim.command("ClaudeCodeAdd %")
    assert mention(desk)["path"] == str(path)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("nowhere.txt", "there is no file or folder nowhere.txt"),
        ("a.txt 0", "from 1 on"),
        ("a.txt x", "from 1 on"),
        ("a.txt 1.5", "from 1 on"),
        ("a.txt 3 2", "line 3 comes after line 2"),
        (". 1", "a folder has no lines"),
        ("a.txt 1 2 3", "at most two"),
    ],
)
def test_add_names_what_is_wrong(desk: Bed, arguments: str, problem: str) -> None:
    (desk.project / "a.txt").write_text(TEXT)
    desk.nvim.command(f"ClaudeCodeAdd {arguments}")
    assert problem in desk.told()[0]
    assert desk.nvim.named("mention") == []


def test_add_completes_paths(desk: Bed) -> None:
    (desk.project / "with space.txt").write_text("")
    (desk.project / "sub").mkdir()
    assert desk.nvim.lua("return vim.fn.getcompletion('ClaudeCodeAdd w', 'cmdline')") == [
        "with\\ space.txt"
    ]
    assert desk.nvim.lua("return vim.fn.getcompletion('ClaudeCodeAdd s', 'cmdline')") == ["sub/"]
    assert desk.nvim.lua("return vim.fn.getcompletion('ClaudeCodeAdd with\\\\ s', 'cmdline')") == [
        "with\\ space.txt"
    ]


def test_what_is_sent_to_nobody_opens_the_terminal_and_waits(desk: Bed) -> None:
    push_status(desk.nvim, clients=[])
    desk.edit("a.txt", TEXT)
    before = desk.nvim.eval("win_getid()")
    desk.nvim.command("ClaudeCodeSend")
    desk.nvim.command("ClaudeCodeSendText! explain")
    desk.nvim.command("2ClaudeCodeSend")
    pid = desk.cli.started()["pid"]
    assert desk.nvim.eval("win_getid()") == before
    assert desk.nvim.mode() == "n"
    assert desk.nvim.named("mention") == []
    push_status(desk.nvim, clients=[{**CLIENT, "ready": False}])
    assert desk.nvim.named("mention") == []
    push_status(desk.nvim, clients=[{**CLIENT, "ready": True}])
    first = mention(desk)
    assert first["path"] == str(desk.project / "a.txt")
    assert first["terminal_pid"] == pid
    typed = b"\x1b[200~explain\x1b[201~\r"
    wait_until(lambda: desk.cli.typed() == typed, "the text, after the mention")
    # what comes after an Enter is of the next prompt
    wait_until(lambda: len(desk.nvim.named("mention")) == 2, "the second mention")
    assert [sent["start_line"] for sent in desk.nvim.named("mention")] == [0, 1]
    assert desk.told() == []


def test_what_waits_comes_back_when_the_terminal_is_closed(desk: Bed) -> None:
    push_status(desk.nvim, clients=[])
    desk.edit("a.txt", TEXT)
    desk.nvim.command("ClaudeCodeSend")
    desk.nvim.command("ClaudeCodeSendText hello")
    desk.cli.started()
    desk.nvim.lua("require('agent_ide.terminal').write('claude', 'exit0')")
    message = desk.wait_told("terminal was closed")
    assert "a.txt and the text was not sent" in message
    assert ":AgentIde send again" in message
    desk.cli.forget()
    desk.nvim.command("AgentIde send again")
    desk.cli.started()
    push_status(desk.nvim, clients=[CLIENT])
    assert mention(desk)["path"] == str(desk.project / "a.txt")
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~hello\x1b[201~", "the text")
    desk.nvim.command("AgentIde send again")
    desk.wait_told("nothing has come back")


def test_what_waits_comes_back_after_half_a_minute(desk: Bed) -> None:
    push_status(desk.nvim, clients=[])
    desk.edit("a.txt", TEXT)
    # half a minute of a clock that runs a hundred times as fast
    code = """
    local new_timer = vim.uv.new_timer
    vim.uv.new_timer = function()
      local timer = new_timer()
      return setmetatable({}, { __index = function(_, name)
        return function(_, ms, ...)
          if name == "start" then return timer:start(ms / 100, ...) end
          return timer[name](timer, ms, ...)
        end
      end })
    end
    """
    desk.nvim.lua(code)
    desk.nvim.command("ClaudeCodeSend")
    assert "no Claude Code has connected within 30 s" in desk.wait_told("a.txt was not sent")


def test_sending_shows_a_hidden_terminal_and_leaves_the_cursor(desk: Bed) -> None:
    desk.edit("a.txt", TEXT)
    desk.open_agent()
    desk.nvim.command("ClaudeCodeClose")
    desk.nvim.command("ClaudeCodeSend")
    assert len(desk.terminal_windows()) == 1
    assert not desk.in_terminal()
    assert desk.nvim.mode() == "n"


def test_what_is_sent_before_the_server_is_there_arrives_in_order(desk: Bed) -> None:
    push_status(desk.nvim, servers=[])
    desk.edit("a.txt", TEXT)
    for lnum in (1, 2, 3):
        desk.nvim.command(f"{lnum}ClaudeCodeSend")
    assert desk.nvim.named("mention") == []
    push_status(desk.nvim, clients=[CLIENT])
    wait_until(lambda: len(desk.nvim.named("mention")) == 3, "three mentions")
    assert [sent["start_line"] for sent in desk.nvim.named("mention")] == [0, 1, 2]


def test_what_cannot_be_sent_is_told(tmp_path: Path) -> None:
    options = {"install": "never", "python": str(tmp_path / "no-python")}
    with bed(tmp_path, options) as desk:
        push_status(desk.nvim, clients=[CLIENT])
        desk.nvim.lua("require('agent_ide.rpc').detach()")
        desk.edit("a.txt", TEXT)
        desk.nvim.command("ClaudeCodeSend")
        assert "a.txt was not sent" in desk.wait_told("no host is running")
        assert ":AgentIde send again" in desk.wait_told("It is kept")


def test_focus_after_send(tmp_path: Path) -> None:
    with bed(tmp_path, {"focus_after_send": True}) as desk:
        desk.edit("a.txt", TEXT)
        desk.nvim.command("ClaudeCodeSend")
        wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
        push_status(desk.nvim, clients=[CLIENT])
        desk.nvim.command("wincmd p")
        assert not desk.in_terminal()
        desk.nvim.command("ClaudeCodeSend")
        assert desk.in_terminal()


def test_an_event_says_what_was_sent(desk: Bed) -> None:
    code = """
    _G.sent = {}
    vim.api.nvim_create_autocmd("User", {
      pattern = { "AgentIdeSent", "ClaudeCodeSendComplete" },
      callback = function(event) table.insert(_G.sent, { event.match, event.data.path }) end,
    })
    """
    desk.nvim.lua(code)
    path = str(desk.edit("a.txt", TEXT))
    desk.nvim.command("ClaudeCodeSend")
    assert desk.nvim.lua("return _G.sent") == [
        ["AgentIdeSent", path],
        ["ClaudeCodeSendComplete", path],
    ]


def test_text_is_pasted_and_not_submitted(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.command("ClaudeCodeSendText explain | this")
    expected = b"\x1b[200~explain | this\x1b[201~"
    wait_until(lambda: desk.cli.typed() == expected, "the paste")


def test_text_with_a_bang_is_submitted(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.command("ClaudeCodeSendText! explain")
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~explain\x1b[201~\r", "the paste and Enter")


def test_text_cannot_end_its_paste_early(desk: Bed) -> None:
    desk.open_agent()
    code = "return require('agent_ide.send').text('claude', 'a\\27[201~1\\r\\nb', false)"
    assert desk.nvim.lua(code)
    expected = b"\x1b[200~a[201~1\r\nb\x1b[201~"
    wait_until(lambda: desk.cli.typed() == expected, "the paste")


@pytest.mark.parametrize("state", ["queued", "opening", "pending", "hidden"])
def test_text_is_refused_while_it_would_answer_a_question(desk: Bed, state: str) -> None:
    desk.open_agent()
    push_status(desk.nvim, clients=[CLIENT], reviews=[{**REVIEW, "state": state}])
    desk.nvim.command("ClaudeCodeSendText! 1")
    assert "waits for your verdict on a.txt" in desk.told()[0]
    push_status(desk.nvim, clients=[CLIENT], reviews=[{**REVIEW, "state": "accepted"}])
    desk.nvim.command("ClaudeCodeSendText x")
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~x\x1b[201~", "only the second text")


def test_the_hosts_text_is_pasted_unless_it_would_answer_a_question(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.call("terminal.paste", {"agent": "claude", "text": "@a\x1b.txt "})
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~@a.txt \x1b[201~", "the text")
    push_status(desk.nvim, clients=[CLIENT], reviews=[REVIEW])
    with pytest.raises(AssertionError, match="the user was told why"):
        desk.nvim.call("terminal.paste", {"agent": "claude", "text": "@b.txt "})
    assert "waits for your verdict on a.txt" in desk.told()[0]


def test_text_for_an_agent_elsewhere_is_refused_with_the_cure(desk: Bed) -> None:
    desk.nvim.command("ClaudeCodeSendText hello")
    assert ":ClaudeCode starts it" in desk.told()[0]
    assert desk.terminal_buffer() == 0


# -- from elsewhere than a file ------------------------------------------------------------------


def sent(desk: Bed, count: int) -> list[tuple[str, int | None, int | None]]:
    wait_until(lambda: len(desk.nvim.named("mention")) >= count, f"{count} mentions")
    mentions = desk.nvim.named("mention")
    assert len(mentions) == count
    desk.nvim.events.clear()
    return [
        (
            item["path"].removeprefix(f"{desk.project}/"),
            item.get("start_line"),
            item.get("end_line"),
        )
        for item in mentions
    ]


def test_the_whole_buffer(desk: Bed) -> None:
    desk.edit("a.txt", TEXT)
    desk.nvim.command("AgentIde send buffer")
    assert sent(desk, 1) == [("a.txt", None, None)]


def test_the_quickfix_list(desk: Bed) -> None:
    for name in ("a.txt", "b.txt"):
        (desk.project / name).write_text(TEXT)
    desk.nvim.command("caddexpr ['a.txt:2:x', 'no file', 'b.txt:3:y', 'gone.txt:1:z']")
    code = "vim.fn.setqflist({ { filename = 'a.txt', lnum = 1, end_lnum = 3 } }, 'a')"
    desk.nvim.command("set errorformat=%f:%l:%m")
    desk.nvim.command(
        "call setqflist([]) | caddexpr ['a.txt:2:x', 'no file', 'b.txt:3:y', 'g:1:z']"
    )
    desk.nvim.lua(code)
    desk.nvim.command("AgentIde send quickfix")
    assert sent(desk, 3) == [("a.txt", 1, 1), ("b.txt", 2, 2), ("a.txt", 0, 2)]
    # its window: the entry under the cursor, or those that are selected
    desk.nvim.command("copen | 3")
    desk.nvim.command("ClaudeCodeSend")
    assert sent(desk, 1) == [("b.txt", 2, 2)]
    desk.nvim.command("xnoremap gs <Cmd>AgentIde send<CR>")
    desk.nvim.feed("ggVGgs")
    assert len(sent(desk, 3)) == 3
    desk.nvim.command("2ClaudeCodeSend")
    assert "no entry with a file" in desk.told()[-1]


DIAGNOSE = """
vim.diagnostic.set(vim.api.nvim_create_namespace("t"), 0, {
  { lnum = 1, col = 0, end_lnum = 2, message = "bad", severity = 1, source = "lint" },
  { lnum = 3, col = 0, message = "odd", severity = 2 },
})
"""


def test_diagnostics(desk: Bed) -> None:
    desk.edit("a.txt", TEXT)
    desk.nvim.command("AgentIde send diagnostics")
    assert "no diagnostics" in desk.told()[-1]
    desk.nvim.lua(DIAGNOSE)
    # connected from elsewhere: it is shown where they are
    desk.nvim.command("AgentIde send diagnostics")
    assert sent(desk, 2) == [("a.txt", 1, 2), ("a.txt", 3, 3)]
    desk.nvim.command("1 | AgentIde send diagnostic")
    assert "no diagnostic in this line" in desk.told()[-1]
    # in a terminal of ours: what they say
    desk.open_agent()
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("wincmd p | 3 | AgentIde send diagnostic")
    first = b"a.txt:2: error: bad [lint]"
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~" + first + b"\x1b[201~", "the text")
    desk.nvim.command("AgentIde send diagnostics")
    both = b"\x1b[200~" + first + b"\na.txt:4: warning: odd\x1b[201~"
    wait_until(lambda: desk.cli.typed().replace(b"\r", b"").endswith(both), "the text")


def test_send_refuses_what_it_does_not_know(desk: Bed) -> None:
    desk.nvim.command("AgentIde send everything")
    assert "again, buffer, diagnostic, diagnostics, quickfix" in desk.told()[0]
    desk.nvim.command("AgentIde add")
    assert "expected :AgentIde add" in desk.told()[1]


# -- which agent ---------------------------------------------------------------------------------

COPILOT = {"id": "copilot-1", "agent": "copilot", "name": "copilot", "version": "1"}


def test_without_a_name_it_goes_to_the_agent_that_is_connected(desk: Bed) -> None:
    push_status(desk.nvim, clients=[COPILOT])
    desk.edit("a.txt", TEXT)
    desk.nvim.command("2,3AgentIde send")
    sent = mention(desk)
    assert (sent["agent"], sent["start_line"], sent["end_line"]) == ("copilot", 1, 2)
    desk.nvim.command("AgentIde add a.txt 1")
    wait_until(lambda: len(desk.nvim.named("mention")) == 2, "the second mention")


def test_of_two_it_goes_to_the_one_that_was_used_last(desk: Bed) -> None:
    push_status(desk.nvim, clients=[CLIENT, COPILOT])
    desk.edit("a.txt", TEXT)
    # never used: the user is asked
    code = "vim.ui.select = function(items, _, done) _G.asked = items; done(items[2]) end"
    desk.nvim.lua(code)
    desk.nvim.command("nmap gs <Plug>(AgentIdeSend)")
    desk.nvim.feed("gs")
    assert mention(desk)["agent"] == "copilot"
    assert desk.nvim.lua("return _G.asked") == ["claude", "copilot"]
    desk.nvim.lua("_G.asked = nil")
    desk.nvim.command("ClaudeCodeSend")
    assert mention(desk)["agent"] == "claude"
    desk.nvim.feed("gs")
    desk.nvim.command("CopilotCliSend")
    # the one whose terminal had the cursor last
    desk.open_agent()
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("wincmd p")
    desk.nvim.feed("gs")
    wait_until(lambda: len(desk.nvim.named("mention")) == 5, "five mentions")
    agents = [item["agent"] for item in desk.nvim.named("mention")]
    assert agents == ["copilot", "claude", "claude", "copilot", "claude"]
    assert desk.nvim.lua("return _G.asked") is None
