"""A protocol is one folder: a toy one runs end to end on a real Neovim with no other edit.

It speaks lines of JSON over TCP: `{"propose": path, "text": ...}` is answered with the verdict,
`{"selection": true}` with what the user has selected; a mention is pushed as `{"mention": path}`.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide.config import Config
from agent_ide.errors import ServeError
from agent_ide.host import Host
from agent_ide.model import Accepted, ClientId, Proposal
from agent_ide.protocols.base import (
    Agent,
    ClientStatus,
    Context,
    Mention,
    ProtocolSpec,
    Served,
    registered,
)
from tests.support.facts import facts
from tests.support.hosted import HostThread
from tests.support.neovim import Neovim, wait_until

CLIENT = ClientId("toy-1")


class ToyServer:
    """protocols.base.Running."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    @property
    def address(self) -> str:
        assert self._server is not None
        return str(self._server.sockets[0].getsockname()[1])

    def files(self) -> list[Path]:
        return []

    def launch_env(self) -> dict[str, str]:
        return {"TOY_PORT": self.address}

    def clients(self) -> list[ClientStatus]:
        if self._writer is None:
            return []
        return [ClientStatus(CLIENT, "toy", "1", None, None, ready=True)]

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        if self._writer is None:
            return False
        self._say({"mention": mention.path})
        return True

    def restore(self) -> bool:
        return True

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._context.on_change()
        while line := await reader.readline():
            self._context.tasks.spawn(self._answer(json.loads(line)), "toy request")
        self._writer = None
        self._context.reviews.client_gone(CLIENT)
        self._context.on_change()
        writer.close()

    async def _answer(self, request: dict[str, Any]) -> None:
        if "propose" in request:
            path, text = request["propose"], request["text"]
            proposal = Proposal("toy", "Toy", CLIENT, path, "toy tab", text)
            verdict = await self._context.reviews.propose(proposal)
            self._say({"text": verdict.text if isinstance(verdict, Accepted) else None})
        else:
            selection = self._context.state.selection
            self._say({"selection": selection and selection.text})

    def _say(self, message: dict[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps(message).encode() + b"\n")


async def serve(context: Context) -> Served:
    server = ToyServer(context)
    await server.start()
    return {"toy": server, "deaf": ServeError("it has no ears")}


TOY = ProtocolSpec((Agent("toy", "Toy"), Agent("deaf", "Deaf")), serve)


class Toy:
    """The agent's side."""

    def __init__(self, nvim: Neovim) -> None:
        self.nvim = nvim
        port = wait_until(lambda: self.lua("return vim.env.TOY_PORT"), "the toy's port")
        self._socket = socket.create_connection(("127.0.0.1", int(port)), timeout=10)
        self._lines = self._socket.makefile("r")

    def lua(self, code: str) -> Any:
        return self.nvim.lua(code)

    def say(self, **message: Any) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        return json.loads(self._lines.readline())

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def toy(tmp_path: Path, file: Path) -> Iterator[Toy]:
    home = tmp_path / "home"
    home.mkdir()
    address = str(home / "s")
    with Neovim(home, args=["--listen", address, str(file)]) as nvim, HostThread(address) as thread:
        host = thread.attach(
            lambda channel: Host(channel, Config(), facts(home), [TOY]), lambda host: host.receive
        )
        thread.run(host.run())
        it = Toy(nvim)
        yield it
        it.close()
        thread.run(host.stop())


def test_review_accepted_with_the_users_change(toy: Toy, file: Path) -> None:
    toy.say(propose=str(file), text="one\nTWO\n")
    wait_until(lambda: toy.lua("return vim.wo.diff"), "the diff")
    toy.nvim.feed("Gobyhand<Esc>")
    toy.nvim.feed(":w<CR>")
    assert toy.hear() == {"text": "one\nTWO\nbyhand\n"}
    file.write_text("one\nTWO\nbyhand\n")
    wait_until(lambda: not toy.lua("return vim.wo.diff"), "the view's end")
    wait_until(
        lambda: (
            toy.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["one", "TWO", "byhand"]
        ),
        "the reload",
    )


def test_review_ends_with_its_client(toy: Toy, file: Path) -> None:
    toy.say(propose=str(file), text="x\n")
    wait_until(lambda: toy.lua("return vim.wo.diff"), "the diff")
    toy.close()
    wait_until(lambda: not toy.lua("return vim.wo.diff"), "the view's end")


def test_selection_and_mention(toy: Toy, file: Path) -> None:
    clients = "return #require('agent_ide.status').get().clients"
    wait_until(lambda: toy.lua(clients) == 1, "the client in the status")
    toy.nvim.feed("Vj")

    def selected() -> bool:
        toy.say(selection=True)
        return bool(toy.hear()["selection"] == "one\ntwo")

    wait_until(selected, "the selection")
    toy.lua(f"require('agent_ide.rpc').notify('mention', {{agent = 'toy', path = '{file}'}})")
    assert toy.hear() == {"mention": str(file)}


def test_an_agent_that_is_not_served_leaves_the_others_alone(toy: Toy) -> None:
    servers = "return require('agent_ide.status').get().servers"
    wait_until(lambda: len(toy.lua(servers)) == 2, "the status")
    assert [server.get("error") for server in toy.lua(servers)] == [None, "it has no ears"]


def test_product_protocols_are_found() -> None:
    assert "claude" in [agent.name for spec in registered() for agent in spec.agents]
