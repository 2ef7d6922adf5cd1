"""What a tool is: its name, its schema for the agent, and the type its arguments become.

Owns:     the shape of tools/list entries and the reading of arguments.
Not here: what a tool does (protocols/*/tools.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agent_ide.errors import RpcError
from agent_ide.wire import large

__all__ = ["NoArguments", "ToolSet", "ToolSpec"]


class NoArguments(msgspec.Struct, frozen=True):
    """A tool without parameters; what is given all the same is ignored."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool.

    properties: JSON schema of each parameter, in the order shown.
    arguments:  msgspec Struct with the wire's names; fields without default are required.
    extras:     further members of its tools/list entry, such as `execution`.
    schema_extras: further members of its inputSchema, such as `$schema`.
    """

    name: str
    description: str
    arguments: type[msgspec.Struct] = NoArguments
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    schema_extras: Mapping[str, Any] = field(default_factory=dict)

    def entry(self) -> dict[str, Any]:
        """This tool's member of a tools/list result."""
        schema: dict[str, Any] = {"type": "object", "properties": dict(self.properties)}
        required = [
            item.encode_name for item in msgspec.structs.fields(self.arguments) if item.required
        ]
        if required:
            schema["required"] = required
        schema.update(self.schema_extras)
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
            **self.extras,
        }

    def read(self, arguments: bytes | memoryview) -> msgspec.Struct:
        """The arguments, typed.

        Raises:
            RpcError: invalid params, naming the field.
        """
        try:
            if len(arguments) > large.LARGE_BYTES:
                return large.decode(arguments, self.arguments)
            return msgspec.json.decode(arguments, type=self.arguments)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RpcError.invalid_params(f"{self.name}: {error}") from None


class ToolSet:
    """The tools of one server, by name."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}

    def entries(self) -> list[dict[str, Any]]:
        return [spec.entry() for spec in self._specs.values()]

    def get(self, name: str) -> ToolSpec | None:
        return self._specs.get(name)
