"""What is selected, whole: from the pushed state where that is all, else from the editor.

Owns:     when the editor has to be asked.
Not here: the pushed state (state.py), words for it (protocols/*/messages.py).
"""

from __future__ import annotations

from agent_ide.editor.port import Editor
from agent_ide.editor.state import EditorState
from agent_ide.model import Selection

__all__ = ["Selected"]


class Selected:
    """Answers every protocol's question for the selection.

    Raises:
        EditorError: the editor had to be asked and did not answer.
    """

    def __init__(self, editor: Editor, state: EditorState, tracked: bool) -> None:
        self._editor = editor
        self._state = state
        self._tracked = tracked

    @property
    def needs_editor(self) -> bool:
        """Not all is in the pushed state, so that the editor has to be asked."""
        pushed = (self._state.selection, self._state.latest)
        return not self._tracked or any(item is not None and item.truncated for item in pushed)

    async def current(self) -> Selection | None:
        """In the active editor; None without a file."""
        if not self._tracked:
            return await self._editor.read_selection()
        return await self._whole(self._state.selection)

    async def latest(self) -> Selection | None:
        """The last one there was, also when its file is in no window any more."""
        return await self._whole(self._state.latest)

    async def _whole(self, pushed: Selection | None) -> Selection | None:
        """A pushed text may have been cut; the editor has the rest while it is the same one."""
        if pushed is None or not pushed.truncated:
            return pushed
        whole = await self._editor.read_selection()
        same = whole is not None and (whole.path, whole.range) == (pushed.path, pushed.range)
        return whole if same else pushed
