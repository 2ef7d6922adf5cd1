"""A real Neovim with a real host, and two agents that are nothing but proposals.

Owns:     the agents: what they propose, and how each writes a file after a verdict.
Not here: a host process and sockets (tests/e2e), the view alone (tests/lua/reviews.py).
"""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from agent_ide.config import Config
from agent_ide.host import Host
from agent_ide.model import Accepted, ClientId, Proposal, Verdict
from agent_ide.protocols.base import Agent, ClientStatus, Context, Mention, ProtocolSpec, Served

from .facts import facts
from .hosted import HostThread
from .neovim import Neovim, wait_until

__all__ = ["Studio"]

RECORD_MESSAGES = """
_G.told = {}
vim.notify = function(message) table.insert(_G.told, message) end
"""


class Silent:
    """A server that nobody connects to."""

    address = "nowhere"

    def files(self) -> list[Path]:
        return []

    def launch_env(self) -> dict[str, str]:
        return {}

    def clients(self) -> list[ClientStatus]:
        return []

    def restore(self) -> bool:
        return True

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        return False

    async def stop(self) -> None:
        pass


class Studio:
    """nvim: the editor, in its project; answers: what the agents got, by tab name."""

    def __init__(
        self, home: Path, *, config: str = "{}", size: tuple[int, int] = (100, 30)
    ) -> None:
        self.project = home / "project"
        self.project.mkdir()
        self.home = home / "nvim"
        self.home.mkdir()
        address = str(self.home / "s")
        args = ["--listen", address, "--cmd", f"lua vim.g.agent_ide = {config}"]
        self.nvim = Neovim(self.home, size=size, args=args)
        self.nvim.lua(RECORD_MESSAGES)
        self.nvim.lua("vim.cmd.cd(...)", str(self.project))
        self.nvim.command(f"source {Path(__file__).parents[2] / 'plugin/agent_ide.lua'}")
        self.answers: dict[str, Future[Verdict]] = {}
        self._thread = HostThread(address)
        self._thread.__enter__()
        options = self.nvim.lua("return require('agent_ide.config').get()")
        self._context: Context | None = None
        self._host = self._thread.attach(
            lambda channel: Host(channel, Config.read(options), facts(self.home), [self._spec()]),
            lambda host: host.receive,
        )
        self._thread.run(self._host.run())

    def _spec(self) -> ProtocolSpec:
        async def serve(context: Context) -> Served:
            self._context = context
            return {"claude": Silent(), "copilot": Silent()}

        return ProtocolSpec(
            (Agent("claude", "Claude Code"), Agent("copilot", "Copilot CLI")), serve
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_host()
        self.nvim.close()

    def end_host(self) -> None:
        """The host is gone, as after a crash: Lua hears of it, the agents do not."""
        if self._thread is not None:
            self._thread.__exit__()
            self._thread = None  # type: ignore[assignment]
            code = "require('agent_ide.rpc').detach() require('agent_ide.diff').host_gone()"
            self.nvim.lua(code)

    # -- the agents ------------------------------------------------------------------------

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def propose(self, name: str, text: str, agent: str = "claude") -> None:
        """An agent proposes that a file of the project shall hold a text (LF)."""
        titles = {"claude": "Claude Code", "copilot": "Copilot CLI"}
        path = name if name.startswith(("/", "~")) else str(self.project / name)
        proposal = Proposal(
            *(agent, titles[agent], ClientId(f"{agent}-1"), path, name, text),
            writes="accepted" if agent == "claude" else "proposed",
            when_stale="It writes all the same.",
        )
        assert self._context is not None
        self.answers[name] = self._thread.start(self._context.reviews.propose(proposal))

    def answer(self, name: str) -> Verdict:
        return self.answers[name].result(5)

    def agent_writes(self, name: str, content: bytes | None = None) -> None:
        """What Claude does after a yes: its text with the line breaks that the file had."""
        verdict = self.answer(name)
        assert isinstance(verdict, Accepted), verdict
        path = self.project / name
        data = verdict.text.encode() if content is None else content
        if content is None and path.exists() and b"\r\n" in path.read_bytes():
            data = data.replace(b"\n", b"\r\n")
        path.write_bytes(data)

    # -- what is there ---------------------------------------------------------------------

    def reviews(self) -> dict[str, str]:
        """State of each open review, by tab name, as Lua has heard."""
        found = self.nvim.lua("return require('agent_ide').reviews()")
        return {review["tab_name"]: review["state"] for review in found}

    def wait_shown(self, name: str) -> None:
        def shown() -> bool:
            return self.reviews().get(name) == "pending"

        wait_until(shown, f"the review {name} ({self.reviews()})")

    def wait_over(self) -> None:
        """No review is open, and nothing of one is left in the editor."""
        wait_until(lambda: not self.reviews() and not self.leftovers(), "the end of all reviews")

    def leftovers(self) -> list[str]:
        code = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
        return [name for name in self.nvim.lua(code) if "agent-ide://" in name]

    def buffer(self, name: str) -> Any:
        """Lines of a file's buffer and whether they are unsaved; None without a buffer."""
        code = """
            local buf = require("agent_ide.files").find(...)
            return buf and vim.api.nvim_buf_is_loaded(buf)
              and { vim.api.nvim_buf_get_lines(buf, 0, -1, true), vim.bo[buf].modified } or vim.NIL
        """
        found = self.nvim.lua(code, str(self.project / name))
        return None if found is None else (list(found[0]), found[1])

    def told(self) -> list[str]:
        return [str(line).removeprefix("agent_ide: ") for line in self.nvim.lua("return _G.told")]
