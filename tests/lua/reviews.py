"""A Neovim in which reviews are shown, with the test as the host.

Owns:     what a test of the review's view asks for again and again.
Not here: the Neovim itself (tests/support/neovim.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.neovim import Neovim, wait_until

__all__ = ["OLD", "PROPOSED", "Reviews"]

OLD = "one\ntwo\nthree\n"
PROPOSED = "one\nTWO\nthree\n"

RECORD_MESSAGES = """
_G.told = {}
vim.notify = function(message) table.insert(_G.told, message) end
"""

WINDOWS = """
local windows = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  table.insert(windows, {
    win = win,
    buf = vim.api.nvim_win_get_buf(win),
    name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)),
    diff = vim.wo[win].diff,
    size = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) },
    position = vim.api.nvim_win_get_position(win),
    current = win == vim.api.nvim_get_current_win(),
  })
end
return windows
"""

OPTIONS = """
local win = ...
local options = {}
for name, info in pairs(vim.api.nvim_get_all_options_info()) do
  if info.scope == "win" then
    local ok, value = pcall(vim.api.nvim_get_option_value, name, { win = win, scope = "local" })
    options[name] = ok and value or nil
  end
end
return options
"""


class Reviews:
    """nvim: the editor; file: an existing file in the project, in the current window."""

    def __init__(
        self,
        home: Path,
        *,
        config: str = "{}",
        old: bytes = OLD.encode(),
        size: tuple[int, int] = (120, 40),
        edit: bool = True,
    ) -> None:
        self.project = home / "project"
        self.project.mkdir()
        self.file = self.project / "a.txt"
        self.file.write_bytes(old)
        self._proposed: dict[int, str] = {}
        set_up = f"lua vim.g.agent_ide = {config}"
        # no -n: what a swap file would bring must not touch the proposal
        self.nvim = Neovim(home / "nvim", size=size, args=["--cmd", set_up])
        self.nvim.lua(RECORD_MESSAGES)
        self.nvim.play_host()
        if edit:
            self.nvim.command(f"edit {self.file}")

    def __enter__(self) -> Reviews:
        return self

    def __exit__(self, *_: object) -> None:
        self.nvim.close()

    # -- the host's part -------------------------------------------------------------------

    def request(self, text: str = PROPOSED, number: int = 1, **more: Any) -> dict[str, Any]:
        path = Path(more.pop("path", self.file))
        self._proposed[number] = text
        return {
            "id": number,
            "agent": "Claude Code",
            "path": str(path),
            "tab_name": f"✻ [Claude Code] {path.name} (abc{number}) ⧉",
            "is_new": not path.exists(),
            "text": text,
            **more,
        }

    def request_by_file(self, text: str, carried: Path, number: int = 1) -> dict[str, Any]:
        """The same for a large text: in a file, as the host sends it."""
        carried.write_bytes(text.encode())
        request = self.request(text, number, text_file=str(carried))
        del request["text"]
        return request

    def show(self, text: str = PROPOSED, number: int = 1, **more: Any) -> None:
        self.nvim.call("review.show", self.request(text, number, **more))

    def close(self, reason: str, number: int = 1) -> None:
        self.nvim.call("review.close", {"id": number, "reason": reason})

    def events(self) -> list[Any]:
        return self.nvim.named("review")

    def wait_accepted(self, number: int = 1) -> str:
        """The accepted text, as the host understands the event."""
        event = self.nvim.wait_event("review", lambda payload: payload["id"] == number)
        assert event["event"] == "accept", event
        return self._proposed[number] if event.get("as_proposed") else self._unpack(event)

    def read(self, number: int = 1) -> str:
        """The text in the proposal's buffer."""
        return self._unpack(self.nvim.call("review.read", {"id": number}))

    def _unpack(self, payload: dict[str, Any]) -> str:
        if "text" in payload:
            return str(payload["text"])
        carried = Path(payload["text_file"])
        assert carried.stat().st_mode & 0o777 == 0o600
        text = carried.read_bytes().decode()
        carried.unlink()
        return text

    def wait_closed(self, number: int = 1) -> None:
        self.nvim.wait_event("review", lambda payload: payload == {"id": number, "event": "closed"})
        wait_until(lambda: self.proposal(number) == 0, "the proposal's end")

    def status(self, *reviews: dict[str, Any]) -> None:
        """Say which reviews there are: what is not named is that of an ordinary one."""
        entries = []
        for review in reviews:
            request = self.request(number=review["id"])
            own = {key: request[key] for key in ("path", "tab_name", "is_new")}
            ordinary = {"agent": "claude", "title": "Claude Code", "client": "claude-1"}
            state = {"client_gone": False, "state": "pending", "added": 1, "removed": 1}
            entries.append({**ordinary, **own, **state, **review})
        self.nvim.call("status", {"servers": [], "clients": [], "reviews": entries})

    def winbars(self) -> list[str]:
        """What the winbars of the current tab page show, left to right, top to bottom."""
        code = """
            vim.cmd.redraw()
            return vim.tbl_map(function(win)
              local bar = vim.wo[win].winbar
              return bar == "" and "" or vim.api.nvim_eval_statusline(bar, {
                winid = win, use_winbar = true, maxwidth = vim.api.nvim_win_get_width(win),
              }).str
            end, vim.api.nvim_tabpage_list_wins(0))
        """
        return [str(bar).strip() for bar in self.nvim.lua(code)]

    # -- what is there ---------------------------------------------------------------------

    def told(self) -> list[str]:
        """Messages to the user, oldest first, without the plugin's name."""
        return [str(line).removeprefix("agent_ide: ") for line in self.nvim.lua("return _G.told")]

    def windows(self) -> list[Any]:
        return list(self.nvim.lua(WINDOWS))

    def window(self, kind: str, number: int = 1) -> Any:
        """The window of a part of a review: "review" (the proposal) or "disk"."""
        prefix = f"agent-ide://{kind}/{number}/"
        found = [win for win in self.windows() if win["name"].startswith(prefix)]
        assert len(found) == 1, self.windows()
        return found[0]

    def options(self, win: int) -> Any:
        return self.nvim.lua(OPTIONS, win)

    def proposal(self, number: int = 1) -> int:
        """The proposal's buffer, 0 when there is none."""
        code = """
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.startswith(vim.api.nvim_buf_get_name(buf), ...) then return buf end
            end
            return 0
        """
        return int(self.nvim.lua(code, f"agent-ide://review/{number}/"))

    def lines(self, buf: int) -> list[str]:
        return list(self.nvim.api.api.buf_get_lines(buf, 0, -1, True))

    def buffer_names(self) -> list[str]:
        code = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
        return list(self.nvim.lua(code))

    def is_gone(self) -> None:
        """Nothing of a review is left in the editor."""
        names = [name for name in self.buffer_names() if "agent-ide://" in name]
        assert names == []
        assert not any(win["diff"] for win in self.windows())
        autocommands = self.nvim.lua(
            "return #vim.tbl_filter(function(a) return (a.group_name or ''):find('agent_ide.diff')"
            " or (a.group_name or ''):find('typed_write') end, vim.api.nvim_get_autocmds({}))"
        )
        assert autocommands == 0
