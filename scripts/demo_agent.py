"""A small agent for the demo: it speaks Claude Code's protocol, but has a script for a model.

Owns:     the client's side of the protocol, as far as the demo needs it; what it prints and asks.
Not here: the plugin (it must not need anything of this file), the demo's steps (demo.py).
Source:   doc/protocols/claude-ide.md; like the CLI it finds the editor by its environment and the
          lock file, proposes an edit with openDiff and writes the file itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import Any, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

Json: TypeAlias = dict[str, Any]

HELP = """Usage: demo_agent.py [options]

  --permission-mode <mode>   it always asks: "manual"
"""

# What it proposes, in turn: what it says, the text it looks for, what comes in its place. When the
# text is not in the file it adds a line instead.
EDITS = [
    ("Let me greet more politely.", '"Hello " + name', 'f"Good day, {name}!"'),
    ("Let me say what it is for.", "def greeting(", "# One line for one guest.\ndef greeting("),
]


@dataclass(frozen=True, slots=True)
class Selection:
    path: Path
    text: str
    first_lnum: int
    last_lnum: int

    def __str__(self) -> str:
        if not self.text:
            return f"the cursor in {self.path.name}, line {self.first_lnum}"
        return f"lines {self.first_lnum} to {self.last_lnum} of {self.path.name}:\n{self.text}"


class Editor:
    """The connection to Neovim: requests with answers, and what it tells about the selection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = count()
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self.selected: asyncio.Queue[Selection] = asyncio.Queue()

    async def greet(self) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "demo-agent", "version": "1"},
        }
        await self.request("initialize", hello)
        await self.notify("notifications/initialized", {})
        await self.notify("ide_connected", {"pid": os.getpid()})

    async def tool(self, name: str, **arguments: object) -> list[str]:
        """Call a tool of the editor; the texts it answers."""
        result = await self.request("tools/call", {"name": name, "arguments": arguments})
        return [block["text"] for block in result["content"] if block["type"] == "text"]

    async def request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        await self._send({"id": number, "method": method, "params": params})
        return await answer

    async def notify(self, method: str, params: Json) -> None:
        await self._send({"method": method, "params": params})

    async def _send(self, message: Json) -> None:
        await self._connection.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def receive(self) -> None:
        """Take messages until the editor goes."""
        async for text in self._connection:
            message = json.loads(text)
            if message.get("method") == "selection_changed":
                self._on_selection(message["params"])
            elif message.get("method") == "roots/list":
                roots = {"roots": [{"uri": Path.cwd().as_uri()}]}
                await self._send({"id": message["id"], "result": roots})
            elif "method" in message and "id" in message:
                error = {"code": -32601, "message": "not in this demo"}
                await self._send({"id": message["id"], "error": error})
            elif message.get("id") in self._waiting:
                self._settle(self._waiting.pop(message["id"]), message)

    def _settle(self, answer: asyncio.Future[Json], message: Json) -> None:
        if "error" in message:
            answer.set_exception(RuntimeError(message["error"]["message"]))
        else:
            answer.set_result(message["result"])

    def _on_selection(self, params: Json) -> None:
        if params.get("filePath"):
            start, end = params["selection"]["start"], params["selection"]["end"]
            last = end["line"] + 1 - (end["character"] == 0 and end != start)
            path = Path(params["filePath"])
            self.selected.put_nowait(Selection(path, params["text"], start["line"] + 1, last))


class Agent:
    """The conversation in the terminal."""

    def __init__(self, editor: Editor, name: str, keyboard: asyncio.Queue[str]) -> None:
        self._editor = editor
        self._name = name
        self._keyboard = keyboard
        self._edits = cycle(EDITS)

    async def run(self) -> None:
        await self._editor.greet()
        print(f"Connected to {self._name}.\n", flush=True)
        print("Select lines in the file and I tell you what I see.", flush=True)
        print("Press Enter here, in insert mode, and I propose an edit. q ends me.\n", flush=True)
        watching = asyncio.create_task(self._tell_selection())
        while (await self._keyboard.get()).strip() != "q":
            await self._propose(Path.cwd() / "greet.py")
        watching.cancel()

    async def _tell_selection(self) -> None:
        told = None
        while True:
            selection = await self._editor.selected.get()
            # while the user still moves, only the last one is worth a line
            await asyncio.sleep(0.2)
            while not self._editor.selected.empty():
                selection = self._editor.selected.get_nowait()
            if selection != told:
                print(f"I see {selection}", flush=True)
            told = selection

    async def _propose(self, path: Path) -> None:
        old = read(path)
        why, before, after = next(self._edits)
        new = old.replace(before, after, 1) if before in old else f"{old}# Nothing left to do.\n"
        tab = f"demo: {path.name}"
        print(f"{why} See the diff of {path.name}: :w accepts it, :q rejects it.", flush=True)
        verdict, *texts = await self._editor.tool(
            "openDiff",
            old_file_path=str(path),
            new_file_path=str(path),
            new_file_contents=new,
            tab_name=tab,
        )
        if verdict == "FILE_SAVED":
            write(path, texts[0])
            changed = "" if texts[0] == new else ", with your changes"
            print(f"Accepted: I wrote {path.name}{changed}.\n", flush=True)
        else:
            print("Rejected: I leave the file as it is.\n", flush=True)
        await self._editor.tool("close_tab", tab_name=tab)


def find_lock(port: str) -> Json:
    """The lock file of the editor on this port, as the CLI looks for it.

    Raises:
        FileNotFoundError: there is none.
    """
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(config) if config else Path.home() / ".claude"
    lock: Json = json.loads((folder / "ide" / f"{port}.lock").read_text(encoding="utf-8"))
    return lock


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def read_keyboard() -> asyncio.Queue[str]:
    """Lines of standard input, as they are entered; its end counts as q."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def on_input() -> None:
        line = sys.stdin.readline()
        if not line:
            loop.remove_reader(sys.stdin)
        lines.put_nowait(line or "q")

    loop.add_reader(sys.stdin, on_input)
    return lines


async def converse() -> None:
    port = os.environ["CLAUDE_CODE_SSE_PORT"]
    lock = find_lock(port)
    async with connect(
        f"ws://127.0.0.1:{port}/",
        subprotocols=[Subprotocol("mcp")],
        additional_headers={"X-Claude-Code-Ide-Authorization": lock["authToken"]},
        proxy=None,
    ) as connection:
        editor = Editor(connection)
        receiving = asyncio.create_task(editor.receive())
        talking = asyncio.create_task(Agent(editor, lock["ideName"], read_keyboard()).run())
        done, pending = await asyncio.wait(
            {receiving, talking}, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        for task in done:
            task.result()


def main() -> int:
    if "--help" in sys.argv:
        print(HELP)
        return 0
    print("A demo agent with a script for a model. Claude Code would stand here.\n", flush=True)
    try:
        asyncio.run(converse())
    except KeyError:
        print("Start me in a terminal of Neovim with the plugin.")
        return 1
    except (OSError, InvalidStatus, ConnectionClosed) as error:
        print(f"No connection to Neovim: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
