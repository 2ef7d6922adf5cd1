"""A bare WebSocket server: what one cannot do without. Prints its port; ends with its stdin.

python -m bench.echo ANSWER_FILE     answers each request with this JSON and the request's id
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve


async def main(answer: str) -> None:
    async def handler(socket: ServerConnection) -> None:
        async for text in socket:
            request = json.loads(text)
            if "id" not in request:
                continue  # a notification
            await socket.send(answer.replace('"id": 0', f'"id": {request["id"]}'))

    async with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8")))
