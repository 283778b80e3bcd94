"""Runs cases and tells the outcome, as text and as JSON."""
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass

from .cases import Case, Endpoint
from .client import NotApplicable

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"
# Words of a failure after which it is asked whether the endpoint is still there.
SILENCE = ("answer is", "timed out", "Timeout", "Connection", "UNAVAILABLE", "DEADLINE_EXCEEDED")


@dataclass(frozen=True)
class Outcome:
    id: str
    section: str
    rule: str
    state: str
    reason: str = ""


def run(case: Case, endpoint: Endpoint, dangerous: bool) -> Outcome:
    """One case. Whatever goes wrong in it, a lost connection or a strange answer, is its failure."""
    if case.dangerous and not dangerous:
        return Outcome(case.id, case.section, case.rule, NOT_APPLICABLE, "dangerous to some servers; run with --dangerous")
    try:
        case.run(endpoint)
        state, reason = PASSED, ""
    except NotApplicable as missing:
        state, reason = NOT_APPLICABLE, str(missing)
    except AssertionError as failure:
        state, reason = FAILED, str(failure) or "assertion without text"
    except Exception as failure:  # noqa: BLE001 - a server may do anything to a client
        state, reason = FAILED, " ".join(f"{type(failure).__name__}: {failure}".split())[:300]
    return Outcome(case.id, case.section, case.rule, state, reason)


def answers(endpoint, tries=3, pause=5.0):
    """Whether the endpoint answers at all; one that was restarted gets some time."""
    for left in reversed(range(tries)):
        try:
            endpoint.rest.get("/v2/health/live")
            return True
        except AssertionError:
            time.sleep(pause if left else 0)
    return False


def run_all(cases, endpoint, dangerous):
    """The outcome of each case. Once the endpoint answers nothing any more, the cases that are left fail at once."""
    outcomes, dead_since = [], None
    for case in cases:
        if dead_since:
            outcomes.append(Outcome(case.id, case.section, case.rule, FAILED, f"no answer to anything since case {dead_since}"))
            continue
        outcomes.append(run(case, endpoint, dangerous))
        if any(word in outcomes[-1].reason for word in SILENCE) and not answers(endpoint):
            dead_since = case.id
    return outcomes


def score(outcomes):
    """Passed of passed and failed, in percent. Cases that do not apply count for nothing."""
    count = Counter(outcome.state for outcome in outcomes)
    judged = count[PASSED] + count[FAILED]
    return 100.0 * count[PASSED] / judged if judged else 0.0


def table(outcomes, key, title):
    """Lines with the counts of each group."""
    groups = {}
    for outcome in outcomes:
        groups.setdefault(getattr(outcome, key), Counter())[outcome.state] += 1
    names = sorted(groups, key=lambda name: (name[:1], int(name[1:]))) if key == "rule" else list(groups)
    lines = [f"{title:<14}{PASSED:>8}{FAILED:>8}{NOT_APPLICABLE:>16}"]
    return lines + [f"{name:<14}{groups[name][PASSED]:>8}{groups[name][FAILED]:>8}{groups[name][NOT_APPLICABLE]:>16}"
                    for name in names]


def text(outcomes):
    """The report: failures with value and expectation, what did not apply and why, counts, score."""
    lines = []
    failed = [outcome for outcome in outcomes if outcome.state == FAILED]
    if failed:
        lines += ["Failed", *(f"  {o.id} ({o.rule}): {o.reason}" for o in failed), ""]
    reasons = {}
    for outcome in outcomes:
        if outcome.state == NOT_APPLICABLE:
            reasons.setdefault(outcome.reason, []).append(outcome.id)
    if reasons:
        lines += ["Not applicable", *(f"  {reason}: {len(ids)} ({', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''})"
                                      for reason, ids in reasons.items()), ""]
    lines += table(outcomes, "section", "section") + [""] + table(outcomes, "rule", "rule") + [""]
    count = Counter(outcome.state for outcome in outcomes)
    lines.append(f"Score {score(outcomes):.1f} %: {count[PASSED]} passed, {count[FAILED]} failed, "
                 f"{count[NOT_APPLICABLE]} not applicable")
    return "\n".join(lines)


def write_json(path, outcomes, about):
    count = Counter(outcome.state for outcome in outcomes)
    whole = {**about, "score": round(score(outcomes), 2), "passed": count[PASSED], "failed": count[FAILED],
             "not_applicable": count[NOT_APPLICABLE], "cases": [asdict(outcome) for outcome in outcomes]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(whole, file, indent=1, ensure_ascii=False)
        file.write("\n")
