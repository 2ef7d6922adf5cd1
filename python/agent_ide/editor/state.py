"""What the editor has pushed: answers that need no question.

Owns:     the last selection, open buffers, workspace folders, diagnostics, and who listens to them.
Not here: how it comes (nvim.py), who is told (protocols/*/serve.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from agent_ide.model import Diagnostic, OpenBuffer, Selection

__all__ = ["EditorState"]

Listener = Callable[[], None]


class EditorState:
    """A mirror of the editor.

    Attributes:
        selection:   in the active editor; None without a file.
        latest:      the last one there was, also when no file is in a window any more.
        buffers:     listed buffers of files, in the editor's order.
        folders:     workspace folders as spelled, the current one first.
        trusted:     by agent, whether the user's function trusts them all; no entry: no function.
        diagnostics: by path as spelled, the worst first; a clean file has no entry.
    """

    def __init__(self) -> None:
        self.selection: Selection | None = None
        self.latest: Selection | None = None
        self.buffers: tuple[OpenBuffer, ...] = ()
        self.folders: tuple[str, ...] = ()
        self.trusted: dict[str, bool] = {}
        self.diagnostics: dict[str, Sequence[Diagnostic]] = {}
        # of each path in `diagnostics`: found once, it takes a look at every folder on the way
        self._real_paths: dict[str, str] = {}
        self._listeners: dict[str, list[Listener]] = {}
        self._diagnostics_listeners: list[Callable[[str], None]] = []

    def select(self, selection: Selection | None) -> None:
        self.selection = selection
        if selection is not None:
            self.latest = selection
        self._tell("selection")

    def open_buffers(self, buffers: Sequence[OpenBuffer]) -> None:
        self.buffers = tuple(buffers)
        self._tell("buffers")

    def set_folders(
        self, folders: Sequence[str], trusted: Mapping[str, bool] = MappingProxyType({})
    ) -> None:
        if (tuple(folders), trusted) != (self.folders, self.trusted):
            self.folders, self.trusted = tuple(folders), dict(trusted)
            self._tell("folders")

    def diagnose(self, path: str, diagnostics: Sequence[Diagnostic]) -> None:
        """What is wrong in a file now, the worst first; what is known already is told to nobody."""
        known = self.diagnostics.get(path)
        if known == (diagnostics or None):
            return
        if known is None:
            self._real_paths[path] = os.path.realpath(path)
        if diagnostics:
            self.diagnostics[path] = diagnostics
        else:
            del self.diagnostics[path], self._real_paths[path]
        for listener in self._diagnostics_listeners:
            listener(path)

    def on_selection(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change; returns how to stop it."""
        return self._listen("selection", listener)

    def on_buffers(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change; returns how to stop it."""
        return self._listen("buffers", listener)

    def on_folders(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change; returns how to stop it."""
        return self._listen("folders", listener)

    def on_diagnostics(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the path that changed; returns how to stop it."""
        self._diagnostics_listeners.append(listener)
        return lambda: self._diagnostics_listeners.remove(listener)

    def buffer(self, path: str) -> OpenBuffer | None:
        """The open buffer of a file: this path, or another spelling of its real path."""
        exact = next((item for item in self.buffers if item.path == path), None)
        if exact is not None:
            return exact
        real = os.path.realpath(path)
        return next((item for item in self.buffers if os.path.realpath(item.path) == real), None)

    def diagnostics_of(self, path: str) -> Sequence[Diagnostic]:
        """Of a file under this or another spelling of its real path; empty when it is clean."""
        if path in self.diagnostics:
            return self.diagnostics[path]
        real = os.path.realpath(path)
        return next(
            (items for name, items in self.diagnostics.items() if self._real_paths[name] == real),
            (),
        )

    def worst_files(self) -> list[str]:
        """Paths that have diagnostics: those with errors first, then those with warnings."""
        return sorted(self.diagnostics, key=lambda path: (self.diagnostics[path][0].severity, path))

    def folders_with_real_paths(self) -> list[str]:
        """Each folder as spelled, then as real path where that differs; each once."""
        spellings: dict[str, None] = {}
        for folder in self.folders:
            spellings.setdefault(folder)
            spellings.setdefault(os.path.realpath(folder))
        return list(spellings)

    def real_folders(self) -> list[str]:
        """Each folder's real path, once, the current one first."""
        return list(dict.fromkeys(os.path.realpath(folder) for folder in self.folders))

    def _listen(self, name: str, listener: Listener) -> Callable[[], None]:
        listeners = self._listeners.setdefault(name, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def _tell(self, name: str) -> None:
        for listener in list(self._listeners.get(name, ())):
            listener()
