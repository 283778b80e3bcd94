"""The outcomes as text, as JSON, as JUnit XML and as a badge."""
import json
import re
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from .basis import DOCUMENTS, PROFILES
from .expected import DISPUTED
from .running import FAILED, NOT_APPLICABLE, PASSED, STATES, counts, groups, score

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class About:
    """What was tested, for the head of a report."""
    rest: str | None
    grpc: str | None
    server: str
    models: str
    version: str
    profiles: tuple

    def fields(self):
        return {"suite": self.version, "server": self.server, "rest": self.rest, "grpc": self.grpc, "models": self.models,
                "profiles": list(self.profiles)}


def by_chapter(outcomes):
    return groups(outcomes, lambda outcome: outcome.case.chapter)


def by_profile(outcomes):
    found = groups(outcomes, lambda outcome: outcome.basis.profile)
    return {name: found[name] for name in PROFILES if name in found}


def share(outcomes):
    """The score as text; '-' if no case applied."""
    count = counts(outcomes)
    return f"{score(outcomes):.1f} %" if count[PASSED] + count[FAILED] else "-"


def table(title, grouped):
    """Lines with the counts of each group."""
    lines = [f"{title:<14}" + "".join(f"{state:>16}" for state in (*STATES, "score"))]
    for name, outcomes in grouped.items():
        count = counts(outcomes)
        lines.append(f"{name:<14}" + "".join(f"{text:>16}" for text in (*(count[state] for state in STATES), share(outcomes))))
    return lines


def text(outcomes):
    """Failures with value and expectation, disputed cases, what did not apply and why, counts, score."""
    lines = []
    for title, chosen in (("Failed", [o for o in outcomes if o.state == FAILED and not o.expected]),
                          ("Failed as expected", [o for o in outcomes if o.state == FAILED and o.expected]),
                          ("Passed against expectation", [o for o in outcomes if o.state == PASSED and o.surprise]),
                          ("Disputed", [o for o in outcomes if o.state == DISPUTED])):
        if chosen:
            lines += [title, *(f"  {o.id} [{o.basis}; {o.basis.strength}]: {o.reason}"
                               + (f" (file: {o.expected or o.dispute})" if o.expected or o.dispute else "") for o in chosen), ""]
    reasons = groups([o for o in outcomes if o.state == NOT_APPLICABLE], lambda outcome: outcome.reason)
    if reasons:
        lines += ["Not applicable", *(f"  {reason}: {len(found)} ({', '.join(o.id for o in found[:3])}{', ...' if len(found) > 3 else ''})"
                                      for reason, found in reasons.items()), ""]
    return "\n".join(lines + table("chapter", by_chapter(outcomes)) + [""] + table("profile", by_profile(outcomes)) + ["", last(outcomes)])


def last(outcomes):
    """The score and the counts in one line."""
    return f"Score {score(outcomes):.1f} %: " + ", ".join(f"{counts(outcomes)[state]} {state}" for state in STATES)


def summary(outcomes):
    return {"score": round(score(outcomes), 2), **{state.replace(" ", "_"): counts(outcomes)[state] for state in STATES}}


def to_json(outcomes, about):
    """The whole report as a JSON document."""
    whole = {**about.fields(), **summary(outcomes),
             "surprises": sum(outcome.surprise for outcome in outcomes),
             "by_chapter": {name: summary(found) for name, found in by_chapter(outcomes).items()},
             "by_profile": {name: summary(found) for name, found in by_profile(outcomes).items()},
             "cases": [_record(outcome) for outcome in outcomes]}
    return json.dumps(whole, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"


def _record(outcome):
    document, url = DOCUMENTS[outcome.basis.document]
    record = {"id": outcome.id, "chapter": outcome.case.chapter, "profile": outcome.basis.profile, "state": outcome.state,
              "reason": outcome.reason, "expected": outcome.expected, "dispute": outcome.dispute, "surprise": outcome.surprise,
              "seconds": round(outcome.seconds, 3), "about": outcome.case.about, "document": document, "url": url,
              "section": outcome.basis.section, "basis": outcome.basis.strength}
    return {key: value for key, value in record.items() if value not in ("", False)}


def _xml(value):
    return _NOT_XML.sub("\ufffd", value)


def junit(outcomes, about):
    """JUnit XML: a suite for each chapter. Expected failures, disputed cases and those that do not apply are skipped."""
    suites = []
    for chapter, found in by_chapter(outcomes).items():
        failures, skipped = sum(o.surprise for o in found), sum(not o.surprise and o.state != PASSED for o in found)
        suites.append(f'<testsuite name="oip.{chapter}" tests="{len(found)}" failures="{failures}" errors="0" skipped="{skipped}" '
                      f'time="{sum(o.seconds for o in found):.3f}">\n' + "".join(map(_testcase, found)) + "</testsuite>\n")
    total = f'tests="{len(outcomes)}" failures="{sum(o.surprise for o in outcomes)}"'
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={quoteattr(_xml("oip-conformance " + about.server))} {total}>\n'
            + "".join(suites) + "</testsuites>\n")


def _testcase(outcome):
    inner = ""
    where = f"{outcome.case.about}\n{outcome.basis} ({outcome.basis.strength}), {DOCUMENTS[outcome.basis.document][1]}"
    if outcome.surprise:
        message = outcome.reason if outcome.state == FAILED else f"passed, a failure was expected: {outcome.expected}"
        inner = f"<failure message={quoteattr(_xml(message))}>{escape(_xml(message + chr(10) + where))}</failure>"
    elif outcome.state != PASSED:
        message = f"{outcome.state}: {outcome.expected or outcome.dispute or outcome.reason}"
        inner = f"<skipped message={quoteattr(_xml(message))}/>"
    return f'<testcase classname="oip.{outcome.case.chapter}" name={quoteattr(outcome.id)} time="{outcome.seconds:.3f}">{inner}</testcase>\n'


def badge(outcomes):
    """An SVG image with the score and the number of disputed cases."""
    disputed = counts(outcomes)[DISPUTED]
    label, value = "OIP V2", share(outcomes) + (f", {disputed} disputed" if disputed else "")
    points = score(outcomes)
    colour = "#3fb950" if points >= 95 else "#9a8c00" if points >= 75 else "#d9822b" if points >= 50 else "#cf4a3c"
    left, right = 7 * len(label) + 12, 7 * len(value) + 12
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{label}: {value}">'
            f'<title>{label}: {value}</title><rect width="{left}" height="20" fill="#444"/>'
            f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
            '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
            f'<text x="{left / 2}" y="14">{label}</text><text x="{left + right / 2}" y="14">{value}</text></g></svg>\n')
