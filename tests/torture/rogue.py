"""An agent that has the token and means harm: what it writes into the fields of tools.

Owns:     the payloads; the string fields of every tool, from the tools' own schemas.
Not here: the sessions (visits.py), what must not happen (test_rogue_agent*.py).

Each payload, where somebody ran it, would make a file `canary` in the working directory of Neovim
and of the host, or set `g:canary`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_ide.protocols.claude_ide.tools import TOOLS as CLAUDE
from agent_ide.protocols.copilot_ide.tools import TOOLS as COPILOT
from agent_ide.protocols.gemini_ide.tools import TOOLS as GEMINI

__all__ = ["ESCAPES", "FIELDS", "PAYLOADS", "SCHEMES", "Field", "rotated"]

_VIM = "writefile([],'canary')"
_EX = f"call {_VIM}"
_LUA = "vim.fn.writefile({},'canary')"
_SHELL = "touch canary"

PAYLOADS = [
    # Ex commands
    f"x|{_EX}|",
    f"|let g:canary=1|{_EX}",
    f"x\n{_EX}\n",
    f"x\r{_EX}\r",
    f'x" | {_EX} | "',
    f"x' | {_EX} | '",
    f"+{_EX}",
    f"+:{_EX}|",
    f"++enc=utf-8 +{_EX}",
    f"-c {_EX}",
    f"x\\|{_EX}",
    f"x | exe 'let g:canary=1' | {_EX}",
    # keys
    f"x\x1b:{_EX}\r",
    f"x\x16\x1b\x12={_VIM}\r",
    f"<C-r>={_VIM}<CR>",
    f"<Esc>:{_EX}<CR>",
    f"<Cmd>{_EX}<CR>",
    f"\x03:{_EX}\n",
    f"ZZ:{_EX}\n",
    # expressions and expansions
    f"`={_VIM}`",
    f"`{_SHELL}`",
    f"=system('{_SHELL}')",
    f"$({_SHELL})",
    f"${{x:-$({_SHELL})}}",
    "%",
    "#",
    "##",
    "%:p|%<",
    f"<cfile>|{_EX}",
    "{a,b}[c-d]*?~$HOME",
    # items of a statusline
    f"%{{{_VIM}}}",
    f"%{{%{_VIM}%}}",
    f"%!{_VIM}",
    f"%{{v:lua.{_LUA}}}",
    f"%@{_VIM}@x%X",
    f"v:lua.{_LUA}",
    # Lua, Python and shell
    f"]]{_LUA}--[[",
    f"'){_LUA}--",
    f'"){_LUA}--',
    f"]=]){_LUA}--[=[",
    "'+__import__('os').system('touch canary')+'",
    f"; {_SHELL} #",
    f"&& {_SHELL}",
    f"| {_SHELL}",
    f"!{_SHELL}",
    f"%s%d%n{_SHELL}",
    # modelines
    f"vim: set fdm=expr fde={_VIM} :",
    # odd texts
    "x\x00y",
    "..",
    "-",
    "x" * 5000,
    "\u202etxt.x",
]

ESCAPES = [
    "\x1b]0;PWNED\x07",
    "\x1b]2;PWNED\x1b\\",
    "\x1b]52;c;UFdORUQ=\x07",
    "\x1b]8;;http://x\x1b\\PWNED\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[31mPWNED",
    "\x1b[?1049lPWNED",
    "\x1bP+q544e\x1b\\PWNED",
    "\x1b_PWNED\x1b\\",
    "\x1bcPWNED",
    "\x9b31mPWNED",
    "\x9d0;PWNED\x9c",
    "\x07PWNED\x08\x08",
    "a\rPWNED\x0e",
    "a\nPWNED\n\n\nb",
]
"""Sequences that a terminal would act on."""

SCHEMES = [
    "http://127.0.0.1:1/canary",
    "https://x/canary",
    "ftp://127.0.0.1/canary",
    "scp://127.0.0.1/canary",
    "rsync://127.0.0.1/canary",
    "term://touch canary",
    "term://.//1:touch canary",
    "oil:///tmp",
    "zip:canary",
    "zipfile:canary::x",
    "tarfile:canary::x",
    "man://ls",
    "man:ls",
    "fugitive:///x/.git//0/canary",
    "agent-ide://review/1/x",
    "health://",
    "jdt://x",
    "file:http://x",
    "file://host/canary",
    "FILE:///canary",
    "canary",
    "./canary",
    "../canary",
    "~/canary",
    "",
]
"""What is no file on this machine by an absolute path."""


@dataclass(frozen=True, slots=True)
class Field:
    """A string field of a tool."""

    agent: str
    tool: str
    name: str
    others: tuple[str, ...]
    """The tool's other required string fields."""

    @property
    def is_path(self) -> bool:
        return "path" in self.name.lower() or self.name == "uri"

    def __str__(self) -> str:
        return f"{self.agent} {self.tool}.{self.name}"


def _fields() -> Iterator[Field]:
    for agent, tools in (("claude", CLAUDE), ("copilot", COPILOT), ("gemini", GEMINI)):
        for entry in tools.entries():
            schema = entry["inputSchema"]
            strings = [
                name for name, kind in schema["properties"].items() if kind["type"] == "string"
            ]
            required = schema.get("required", [])
            for name in strings:
                others = tuple(item for item in strings if item != name and item in required)
                yield Field(agent, entry["name"], name, others)


FIELDS = list(_fields())


def rotated(count: int, turn: int) -> list[str]:
    """So many payloads; with one turn after the other each comes up."""
    return [
        PAYLOADS[(turn * count + at) % len(PAYLOADS)] for at in range(min(count, len(PAYLOADS)))
    ]
