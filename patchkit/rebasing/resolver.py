"""Ask an external program for the text of a conflict: JSON on stdin, text on stdout. Never trusted, always named."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

from patchkit.carry.nouns import Conflict, Settle, Settled, Stage
from patchkit.errors import CommandError
from patchkit.process import run

MOST_BYTES = 1_000_000  # no conflict's text is longer
NOTHING = 1  # the program's status for "I have no proposal"


def propose(command: str, cwd: Path, *, timeout_s: float) -> Settle:
    """Return what asks the program about each conflict; its proposals are judged like any other text."""
    words = shlex.split(command)

    def settle(conflict: Conflict) -> Settled | None:
        asked = json.dumps({"schema": "patchkit/conflict/1", **asdict(conflict)}).encode()
        try:
            answer = run(words, cwd=cwd, timeout_s=timeout_s, stdin=asked, allowed=(0, NOTHING))
        except CommandError as exc:
            raise _failure(conflict, exc.what, exc.found) from exc
        if answer.status == NOTHING:
            return None
        if len(answer.stdout) > MOST_BYTES:
            raise _failure(conflict, f"{words[0]} proposed more than {MOST_BYTES} bytes")
        try:
            text = answer.stdout.decode()
        except UnicodeDecodeError as exc:
            raise _failure(conflict, f"{words[0]} proposed text that is not UTF-8") from exc
        lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
        return Settled(lines, Stage.RESOLVER, f"proposed by {words[0]}")

    return settle


def _failure(conflict: Conflict, what: str, found: str = "") -> CommandError:
    return CommandError(
        f"the resolver failed: {what}",
        where=f"{conflict.path}#{conflict.hunk}",
        found=found,
        kept="nothing of it was taken",
        hint="patchkit rebase --continue asks it again; --abort, then rebase without --resolver",
    )
