"""The options that the host needs, typed.

Owns:     the shape of what Lua sends with `start`.
Not here: defaults for users, validation with names and reasons (lua/agent_ide/config.lua).
          A protocol reads its own section: `Config.section("claude", ClaudeConfig)`.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from agent_ide.errors import ConfigError

__all__ = ["Config", "EditorFacts"]

T = TypeVar("T", bound=msgspec.Struct)


class EditorFacts(msgspec.Struct, frozen=True):
    """Which Neovim this host serves.

    pid:         Neovim's process id; stands in the lock files.
    version:     such as "0.11.4".
    runtime_dir: a folder that only this user can enter; large texts travel through it.
    log_file:    the file that both halves write to.
    state_dir:   a folder for what outlives a session.
    runtime:     $VIMRUNTIME.
    language:    v:lang.
    shell:       'shell'.
    """

    pid: int
    version: str
    runtime_dir: str
    log_file: str
    state_dir: str
    runtime: str
    language: str
    shell: str


class Config(msgspec.Struct, frozen=True):
    """Options of the whole host, and the protocols' sections unread."""

    log_level: str = "info"
    track_selection: bool = True
    sections: dict[str, object] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, options: object) -> Config:
        """Take over Lua's merged options.

        Raises:
            ConfigError: the options are not what the schema promises.
        """
        if not isinstance(options, dict):
            raise ConfigError("the options are not a table")
        try:
            config = msgspec.convert(options, cls)
        except msgspec.ValidationError as error:
            raise ConfigError(str(error)) from None
        return msgspec.structs.replace(config, sections=options)

    def enabled(self, name: str) -> bool:
        """Whether the user wants a protocol's server; yes unless its section says no."""
        section = self.sections.get(name)
        return not isinstance(section, dict) or section.get("enabled") is not False

    def shows_diffs(self, agent: str) -> bool:
        """Whether the user wants to see the edits that an agent proposes."""
        section = self.sections.get("diff")
        if not isinstance(section, dict):
            return True
        return section.get("enabled") is not False and agent not in list(
            section.get("disabled_agents") or ()
        )

    def section(self, name: str, shape: type[T]) -> T:
        """The options of one protocol.

        Raises:
            ConfigError: a value has the wrong type.
        """
        try:
            # Lua cannot tell an empty table from an empty list
            return msgspec.convert(self.sections.get(name) or {}, shape)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{name}: {error}") from None
