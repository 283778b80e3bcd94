"""The cases as a document: CASES.md, and the lines of 'oip-conformance list'."""
from .basis import DOCUMENTS, PROFILES, basis_of
from .chapters import CHAPTERS
from .running import groups

_HEAD = """# The cases of the conformance suite

`oip-conformance list --markdown` writes this page. It has {count} cases in {groups} groups; `oip-conformance list` prints each case. A report shows the section that a case rests on beside its outcome.

*Stated*: the section says what the cases assert. *Reading*: it leaves that open, or documents contradict each other, and the suite takes one side. If your server takes the other, list the cases as `disputed`, with your reason.

## Profiles
| profile | cases | what it covers |
|---|---|---|
{profiles}

## Documents
| name | document |
|---|---|
{documents}
"""


def line(case):
    """A case, its profile and what it rests on."""
    basis = basis_of(case.id)
    return f"{case.id}\t{basis.profile}\t{basis} ({basis.strength})\t{case.about}" + (" [dangerous]" if case.dangerous else "")


def _cell(text):
    return text.replace("|", "\\|")


def _groups(chapter):
    """Cases of one group with one basis, in order."""
    return groups(chapter.cases, lambda case: (case.group, basis_of(case.id)))


def _row(group, basis, cases):
    keys = [case.id[len(group):] + " !" * case.dangerous for case in cases]
    rows = f"`{group}`" if keys == [""] else f"`{group}`: " + ", ".join(f"`{key}`".replace(" !`", "` !") for key in keys)
    return f"| {_cell(rows)} | {_cell(cases[0].about)} | {basis.profile} | {_cell(str(basis))} | {basis.strength} |"


def markdown():
    """CASES.md."""
    cases = [case for chapter in CHAPTERS for case in chapter.cases]
    profiles = groups(cases, lambda case: basis_of(case.id).profile)
    used = {basis_of(case.id).document for case in cases}
    parts = [_HEAD.format(
        count=len(cases), groups=sum(len(_groups(chapter)) for chapter in CHAPTERS),
        profiles="\n".join(f"| {name} | {len(profiles[name])} | {about} |" for name, about in PROFILES.items()),
        documents="\n".join(f"| {name} | [{title}]({url}) |" for name, (title, url) in DOCUMENTS.items() if name in used))]
    for chapter in CHAPTERS:
        parts.append(f"## {chapter.name}\nA mark ! follows cases that run only with `--dangerous`.\n" if any(c.dangerous for c in chapter.cases)
                     else f"## {chapter.name}\n")
        parts.append("| cases | what they assert | profile | rests on | basis |\n|---|---|---|---|---|\n"
                     + "\n".join(_row(group, basis, found) for (group, basis), found in _groups(chapter).items()) + "\n")
    return "\n".join(parts)
