"""Runs cases, one after the other, and judges their outcomes."""
import time
from collections import Counter
from dataclasses import dataclass

from .basis import basis_of
from .cases import Case, Endpoint
from .client import NotApplicable, pb
from .expected import DISPUTED, FAILURE, Expectations

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"
STATES = (PASSED, FAILED, DISPUTED, NOT_APPLICABLE)
# Words of a failure after which it is asked whether the endpoint is still there.
SILENCE = ("answer is", "timed out", "Timeout", "Connection", "UNAVAILABLE", "DEADLINE_EXCEEDED")
MAX_REASON = 2000


@dataclass(frozen=True)
class Outcome:
    """What a case came to. A disputed case has its own outcome in reason, and its author's in dispute.

    expected    the reason for which a failure was expected
    surprise    the outcome is not the expected one
    """
    case: Case
    state: str
    reason: str = ""
    seconds: float = 0.0
    expected: str = ""
    dispute: str = ""
    surprise: bool = False

    @property
    def id(self):
        return self.case.id

    @property
    def basis(self):
        return basis_of(self.case.id)


@dataclass(frozen=True)
class Conditions:
    """How cases are run.

    dangerous    also run those that are known to crash a server
    time_limit   seconds for all cases; those that are left then fail
    restart      seconds in which a server that was lost answers again
    """
    dangerous: bool = False
    time_limit: float = 1800.0
    restart: float = 10.0
    expectations: Expectations = Expectations(())


def run(case: Case, endpoint: Endpoint) -> tuple[str, str]:
    """State and reason. Whatever goes wrong in it, a lost connection or a strange answer, is the failure of the case."""
    try:
        case.run(endpoint)
        return PASSED, ""
    except NotApplicable as missing:
        return NOT_APPLICABLE, str(missing)
    except AssertionError as failure:
        text = str(failure) or "assertion without text"
    except Exception as failure:  # noqa: BLE001 - a server may do anything to a client
        text = " ".join(f"{type(failure).__name__}: {failure}".split())[:300]
    return FAILED, text if len(text) <= MAX_REASON else text[:MAX_REASON] + " ..."


def answers(endpoint, seconds):
    """Whether the endpoint answers at all; one that was restarted gets some time."""
    end = time.monotonic() + seconds
    while True:
        try:
            if endpoint.rest_address:
                endpoint.rest.get("/v2/health/live")
            else:
                endpoint.grpc.call("ServerLive", pb.ServerLiveRequest())
            return True
        except AssertionError as failure:
            if "UNIMPLEMENTED" in str(failure):
                return True
        if time.monotonic() >= end:
            return False
        time.sleep(min(1.0, seconds))


def run_all(cases, endpoint, conditions=Conditions(), tell=lambda outcome: None):
    """The outcome of each case. Once the endpoint answers nothing any more, or time is up, the cases that are left fail at once."""
    outcomes, over = [], ""
    begin = time.monotonic()
    for case in cases:
        start = time.monotonic()
        if case.dangerous and not conditions.dangerous:
            state, reason = NOT_APPLICABLE, "dangerous to some servers; run with --dangerous"
        elif over:
            state, reason = FAILED, over
        else:
            state, reason = run(case, endpoint)
            if any(word in reason for word in SILENCE) and not answers(endpoint, conditions.restart):
                over = f"not run: the endpoint answers nothing since case {case.id}"
            elif time.monotonic() - begin > conditions.time_limit:
                over = f"not run: {conditions.time_limit:g} s (--time-limit) were over after case {case.id}"
        outcomes.append(judged(case, state, reason, time.monotonic() - start, conditions.expectations))
        tell(outcomes[-1])
    return outcomes


def judged(case, state, reason, seconds, expectations):
    """The outcome in the light of what was expected."""
    entry = expectations.of(case.id)
    if entry is None or state == NOT_APPLICABLE:
        return Outcome(case, state, reason, seconds, surprise=state == FAILED)
    if entry.kind == FAILURE:
        return Outcome(case, state, reason, seconds, expected=entry.reason, surprise=state == PASSED)
    return Outcome(case, DISPUTED, f"{state}: {reason}" if reason else state, seconds, dispute=entry.reason)


def counts(outcomes):
    return Counter(outcome.state for outcome in outcomes)


def score(outcomes):
    """Passed of passed and failed, in percent, 0 if there are none. Cases that do not apply, or are disputed, count for nothing."""
    count = counts(outcomes)
    applied = count[PASSED] + count[FAILED]
    return 100.0 * count[PASSED] / applied if applied else 0.0


def groups(outcomes, key):
    """The outcomes by a property of theirs, in the order of the first."""
    found = {}
    for outcome in outcomes:
        found.setdefault(key(outcome), []).append(outcome)
    return found
