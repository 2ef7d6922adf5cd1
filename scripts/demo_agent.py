"""A small agent for the demo: it speaks the agents' protocols, but has a script for a model.

    demo_agent.py claude|copilot [options]

Owns:     what it prints, asks and proposes.
Not here: the protocols (demo_claude.py, demo_copilot.py), the demo's steps (demo.py).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from demo_claude import claude_editor
from demo_copilot import copilot_editor
from demo_editor import Editor, NoEditorError

HELP = """Usage: demo_agent.py claude|copilot [options]

  --permission-mode <mode>   it always asks: "manual"
"""

# its name for people, how it connects, how to start the other one beside it
AGENTS = {
    "claude": ("Claude Code", claude_editor, ":CopilotCli"),
    "copilot": ("Copilot CLI", copilot_editor, ":ClaudeCode"),
}

# What it proposes, in this order, unless it is done already: what it says, the text it looks for,
# what comes in its place.
EDITS = [
    ("Let me greet more politely.", '"Hello " + name', 'f"Good day, {name}!"'),
    ("Let me say what it is for.", "def greeting(", "# One line for one guest.\ndef greeting("),
]


class Agent:
    """The conversation in the terminal."""

    def __init__(self, editor: Editor, keyboard: asyncio.Queue[str]) -> None:
        self._editor = editor
        self._keyboard = keyboard

    async def run(self, other: str) -> None:
        await self._editor.greet()
        print(f"Connected to {self._editor.name}.\n", flush=True)
        print("Select lines in the file and I tell you what I see.", flush=True)
        print("Press Enter here, in insert mode, and I propose an edit. q ends me.", flush=True)
        print(f"{other} starts another agent beside me.\n", flush=True)
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
        why, new = next_edit(old)
        tab = f"demo: {path.name}"
        print(f"{why} See the diff of {path.name}: :w accepts it, :q rejects it.", flush=True)
        text = await self._editor.propose(path, new, tab)
        if text is not None:
            write(path, text)
            changed = "" if text == new else ", with your changes"
            print(f"Accepted: I wrote {path.name}{changed}.\n", flush=True)
        else:
            print("Rejected: I leave the file as it is.\n", flush=True)
        await self._editor.finish(tab)


def next_edit(old: str) -> tuple[str, str]:
    """Why, and the whole new text."""
    for why, before, after in EDITS:
        if before in old and after not in old:
            return why, old.replace(before, after, 1)
    return "I have no more ideas.", f"{old}# Nothing left to do.\n"


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


async def converse(agent: str) -> None:
    _, connect, other = AGENTS[agent]
    async with connect() as editor:
        receiving = asyncio.create_task(editor.receive())
        talking = asyncio.create_task(Agent(editor, read_keyboard()).run(other))
        done, pending = await asyncio.wait(
            {receiving, talking}, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        for task in done:
            task.result()


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in AGENTS or "--help" in argv:
        print(HELP)
        return 0 if "--help" in argv else 1
    title, *_ = AGENTS[argv[0]]
    print(f"A demo agent with a script for a model. {title} would stand here.\n", flush=True)
    try:
        asyncio.run(converse(argv[0]))
    except NoEditorError as error:
        print(f"No connection to Neovim: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
