"""The exception tree; each class has one exit code."""

from typing import ClassVar

INTERRUPTED = 130  # the exit code after Ctrl-C or SIGTERM


class PatchkitError(Exception):
    """A failure whose cause is known.

    Its fields are printed under the message, in this order: where, found, kept, hint.

    what: what is wrong, in the user's words; lower case, no full stop.
    where: the file and line, or the object, that it is about.
    found: what was there, and what was expected.
    kept: what is unchanged, or where the remains are.
    hint: a command that can be pasted.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", found: str = "", kept: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.found = found
        self.kept = kept
        self.hint = hint


class ConfigError(PatchkitError):
    """Settings, store or checkout are not as stated; nothing was changed."""

    exit_code = 2


class PatchError(PatchkitError):
    """A patch file is malformed or unsafe; nothing was changed.

    rule: the stable rule id, as in `patchkit explain PK104`; empty where none fits.
    """

    exit_code = 2

    def __init__(
        self, what: str, *, rule: str = "", where: str = "", found: str = "", kept: str = "", hint: str = ""
    ) -> None:
        super().__init__(what, where=where, found=found, kept=kept, hint=hint)
        self.rule = rule


class ConflictError(PatchkitError):
    """At least one hunk is NOWHERE or AMBIGUOUS."""

    exit_code = 3


class VerifyError(PatchkitError):
    """The series applies, but a verify rule or a guard fails."""

    exit_code = 4


class SmokeError(PatchkitError):
    """The image is built, but a smoke test fails."""

    exit_code = 5


class CommandError(PatchkitError):
    """git, the network or an engine failed, is missing, or passed its deadline; a retry may help."""

    exit_code = 6
