# SPDX-License-Identifier: Apache-2.0
"""The one error that a user sees: what happened, because of what, and what to do about it."""

USAGE = 2
BAD_INPUT = 3
CANNOT_READ_OR_WRITE = 7
INTERRUPTED = 130


class ZooError(Exception):
    """An expected failure. `code` is the exit code of the program (the table in README.md)."""

    def __init__(self, what, because="", hint="", code=BAD_INPUT):
        super().__init__(what)
        self.what, self.because, self.hint, self.code = what, because, hint, code

    def __str__(self):
        lines = [self.what]
        if self.because:
            lines.append(f"  because: {self.because}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def from_os_error(what, error, hint=""):
    """A ZooError (exit code 7) for a file that cannot be read or written."""
    reason = error.strerror or type(error).__name__
    where = f" ({error.filename})" if getattr(error, "filename", None) else ""
    return ZooError(what, because=f"{reason}{where}", hint=hint, code=CANNOT_READ_OR_WRITE)
