"""Bare servers: what one cannot do without. Each answers every request with the same text.

Owns:     a server in a process of its own, on a port (websockets) or a unix socket (aiohttp).
Not here: what is measured against it.

python -m bench.echo ANSWER_FILE           a WebSocket; prints its port
python -m bench.echo ANSWER_FILE SOCKET    HTTP on that socket; prints its path

ANSWER_FILE holds an answer whose id is 0. `tools/list` alone is answered by itself, so that
`python -m bench other` finds something to call.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from websockets.asyncio.server import ServerConnection, serve

__all__ = ["Bare"]

REPO = Path(__file__).resolve().parent.parent

TOOLS = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "getOpenEditors"}]}})


class Bare:
    """A bare server; use as a context manager.

    address: its port, or its socket.
    """

    def __init__(self, answer: str, socket: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="aib")
        path = Path(self._folder.name) / "answer.json"
        path.write_text(answer, encoding="utf-8")
        where = [str(Path(self._folder.name) / "s")] if socket else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.echo", str(path), *where],
            cwd=REPO,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    @property
    def port(self) -> int:
        return int(self.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()
        self._folder.cleanup()


def _reply(answer: str, request: Any) -> str:
    given = TOOLS if request.get("method") == "tools/list" else answer
    return given.replace('"id": 0', f'"id": {request["id"]}')


async def _web_socket(answer: str) -> None:
    async def handler(socket: ServerConnection) -> None:
        async for text in socket:
            request = json.loads(text)
            if "id" in request:
                await socket.send(_reply(answer, request))

    async with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


async def _http(answer: str, path: str) -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        message = json.loads(await request.read())
        if "id" not in message:
            return web.Response(status=202)
        return web.Response(text=_reply(answer, message), content_type="application/json")

    runner = web.ServerRunner(web.Server(handler, access_log=None))
    await runner.setup()
    await web.UnixSite(runner, path).start()
    print(path, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    _answer = Path(sys.argv[1]).read_text(encoding="utf-8")
    asyncio.run(_http(_answer, sys.argv[2]) if len(sys.argv) > 2 else _web_socket(_answer))
