"""One frozen record for the outcome of each verb, with its JSON schema version; one module a verb.

A record's class says which verb it belongs to and which version its JSON document has; `exit_code` is what the
process ends with after the record was shown.
"""

from typing import ClassVar, Protocol


class Result(Protocol):
    """What every record offers to the command line."""

    verb: ClassVar[str]  # the module of patchkit.render that shows it
    schema: ClassVar[int]  # raised when a field changes its meaning or goes away

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        ...
