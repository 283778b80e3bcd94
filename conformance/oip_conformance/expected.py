"""Files of expected failures and of disputed cases: one on each line, its kind, the id or a pattern of ids, and the reason.

    # A comment.
    failure   errors.form.method      our router answers text/plain, issue 12
    disputed  numbers.in.null.*       null is no number in our documentation
"""
from dataclasses import dataclass
from fnmatch import fnmatchcase

FAILURE, DISPUTED = "failure", "disputed"


class ExpectedFileError(Exception):
    """A file of expected failures that cannot be used; the message names file and line."""


@dataclass(frozen=True)
class Entry:
    kind: str
    pattern: str
    reason: str


@dataclass(frozen=True)
class Expectations:
    entries: tuple

    def of(self, id):
        """The first entry for a case, or None."""
        return next((entry for entry in self.entries if fnmatchcase(id, entry.pattern)), None)


def read(path, ids):
    """The entries of a file; each must have a reason, and concern a case of the suite."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExpectedFileError(f"{path} cannot be read: {error}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        if words[0] not in (FAILURE, DISPUTED) or len(words) < 3:
            raise ExpectedFileError(f"{path}:{number}: line is {line!r}, expected '{FAILURE}' or '{DISPUTED}', a case, and a reason")
        if not any(fnmatchcase(id, words[1]) for id in ids):
            raise ExpectedFileError(f"{path}:{number}: '{words[1]}' is no case, see 'oip-conformance list'")
        entries.append(Entry(*words))
    return Expectations(tuple(entries))


def lines(outcomes, failed):
    """A file that expects these outcomes: disputes as they are, and a line for each failure."""
    disputes = dict.fromkeys((outcome.id, outcome.dispute) for outcome in outcomes if outcome.dispute)
    made = [f"{DISPUTED}  {id}  {why}" for id, why in disputes]
    made += [f"{FAILURE}  {outcome.id}  {' '.join((outcome.expected or outcome.reason).split())[:160]}"
             for outcome in outcomes if outcome.state == failed]
    return "\n".join(made) + "\n"
