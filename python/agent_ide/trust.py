"""Whether the user trusts the files in Neovim's folders, as the options say; pure.

Owns:     what a pattern covers.
Not here: what a CLI is told of it (protocols/*), the user's own function (folders.lua).
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence

__all__ = ["is_trusted"]


def is_trusted(folders: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether *every* folder is covered: trust makes the CLI skip its own question for each.

    A pattern is a path with `~` and the wildcards of fnmatch; it covers what lies below it too, and
    nothing else. The folders are real paths, so a pattern's own real path counts as well.
    """
    expanded = [os.path.expanduser(pattern) for pattern in patterns]
    # "" or a relative one could cover more than its author meant
    absolute = [pattern for pattern in expanded if os.path.isabs(pattern)]
    wanted = {form.rstrip("/") for item in absolute for form in (item, os.path.realpath(item))}

    def covered(folder: str) -> bool:
        return any(
            fnmatch.fnmatchcase(folder, pattern) or fnmatch.fnmatchcase(folder, f"{pattern}/*")
            for pattern in wanted
        )

    return bool(folders) and all(covered(folder) for folder in folders)
