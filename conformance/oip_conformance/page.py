"""The outcomes as one HTML page, without scripts and without other files."""
from html import escape

from .basis import DOCUMENTS, PROFILES
from .expected import DISPUTED
from .report import by_chapter, by_profile, last, share
from .running import FAILED, PASSED, STATES, counts

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #8885; vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums }
summary { cursor: pointer; padding: .3rem 0; font-weight: 600 }
code { overflow-wrap: anywhere }
.passed { color: #1a7f37 } .failed { color: #cf222e } .disputed { color: #9a6700 }
@media (prefers-color-scheme: dark) { .passed { color: #4cc267 } .failed { color: #ff7b72 } .disputed { color: #d9a520 } }
"""


def html(outcomes, about):
    """The page."""
    head = [("server", about.server), ("REST", about.rest or "-"), ("gRPC", about.grpc or "-"), ("models", about.models),
            ("profiles", ", ".join(about.profiles)), ("suite", f"oip-conformance {about.version}")]
    facts = "".join(f"<tr><th scope=row>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in head)
    profiles = {f"{name}: {PROFILES[name]}": found for name, found in by_profile(outcomes).items()}
    chapters = "".join(_chapter(name, found) for name, found in by_chapter(outcomes).items())
    return ("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Open Inference Protocol: {share(outcomes)}</title><style>{_STYLE}</style></head><body>"
            f"<h1>Conformance with the Open Inference Protocol</h1><p><strong>{escape(last(outcomes))}</strong></p>"
            f"<table>{facts}</table><h2>Chapters</h2>{_counts('chapter', by_chapter(outcomes))}"
            f"<h2>Profiles</h2>{_counts('profile', profiles)}<h2>Cases</h2>{chapters}</body></html>\n"
            ).encode("utf-8", "backslashreplace").decode()


def _counts(title, grouped):
    rows = "".join(f"<tr><th scope=row>{escape(name)}</th>" + "".join(f"<td class=n>{counts(found)[state]}</td>" for state in STATES)
                   + f"<td class=n>{share(found)}</td></tr>" for name, found in grouped.items())
    return f"<table><tr><th>{title}</th>" + "".join(f"<th>{state}</th>" for state in STATES) + f"<th>score</th></tr>{rows}</table>"


def _chapter(name, found):
    count = counts(found)
    numbers = ", ".join(f"{count[state]} {state}" for state in STATES if count[state])
    shown = " open" if any(outcome.surprise for outcome in found) else ""
    return (f"<details{shown}><summary>{escape(name)}: {share(found)} ({numbers})</summary><table>"
            "<tr><th>case</th><th>outcome</th><th>value and expectation</th><th>rests on</th></tr>"
            + "".join(map(_row, found)) + "</table></details>")


def _row(outcome):
    basis, kind = outcome.basis, outcome.state if outcome.state in (PASSED, FAILED, DISPUTED) else ""
    state = outcome.state + (", expected" if outcome.expected and not outcome.surprise else "")
    state += ", unexpected" if outcome.surprise and outcome.state == PASSED else ""
    why = outcome.expected or outcome.dispute
    return (f"<tr><td><code>{escape(outcome.id)}</code><br>{escape(outcome.case.about)}</td><td class={kind or 'none'}>{escape(state)}</td>"
            f"<td>{escape(outcome.reason)}{'<br><em>' + escape(why) + '</em>' if why else ''}</td>"
            f"<td><a href='{escape(DOCUMENTS[basis.document][1])}'>{escape(DOCUMENTS[basis.document][0])}</a>, {escape(basis.section)} "
            f"({basis.strength})</td></tr>")
