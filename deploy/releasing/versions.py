"""The version in every file of the checkout that states it."""

import pathlib
import re
import subprocess
from typing import NamedTuple

HOME = pathlib.Path(__file__).resolve().parents[2]
VERSION = r"\d+\.\d+\.\d+"
# Files, and the text before the version in them; each file has at least one.
PLACES = [
    ("pom.xml", r"<artifactId>isthmus-parent</artifactId>\s*<version>"),
    ("*/pom.xml", r"<artifactId>isthmus-(?:gateway|parent)</artifactId>\s*<version>"),
    ("examples/*/pom.xml", r"<isthmus\.version>"),
    ("deploy/helm/isthmus/Chart.yaml", r'^(?:version|appVersion): "?'),
    ("deploy/helm/golden/*.yaml", r'(?:version: "|chart: isthmus-|tag: |/isthmus:|"isthmus:)'),
    ("deploy/image/Containerfile", r"(?:VERSION=|isthmus:)"),
    ("conformance/oip_conformance/__init__.py", r'^__version__ = "'),
    ("README.md", r"The last release is "),
    ("docs/reference/compatibility.md", r"^Versions are MAJOR\.MINOR\.PATCH\. "),
    ("docs/guides/installing.md", r"(?:of the last release, |isthmus-|isthmus:|^version +)"),
]
CHANGES = re.compile(r"^## (.+)\n", re.M)


class Place(NamedTuple):
    """Where a file states the version."""

    file: pathlib.Path
    line: int
    version: str


def files(pattern):
    """The files in git that a pattern of PLACES stands for."""
    listed = subprocess.run(["git", "-C", HOME, "ls-files", pattern], capture_output=True, text=True, check=True)
    return [HOME / each for each in listed.stdout.splitlines() if not (pattern == "*/pom.xml" and each.startswith("examples/"))]


def pattern_of(before):
    return re.compile(f"({before})({VERSION})(?![0-9.]*[0-9])", re.M)


def places():
    """Every place, in the order of PLACES. ValueError if a file has none."""
    found = []
    for pattern, before in PLACES:
        for file in files(pattern) or [HOME / pattern]:
            text = file.read_text() if file.exists() else ""
            matches = list(pattern_of(before).finditer(text))
            if not matches:
                raise ValueError(f"{file.relative_to(HOME)} does not state the version after '{before}'")
            found += [Place(file.relative_to(HOME), text.count("\n", 0, each.start(2)) + 1, each[2]) for each in matches]
    return found


def differing(version):
    """What states another version, as FILE:LINE: VERSION."""
    return [f"{each.file}:{each.line}: {each.version}" for each in places() if each.version != version]


def write(version):
    for pattern, before in PLACES:
        for file in files(pattern):
            file.write_text(pattern_of(before).sub(lambda match: match[1] + version, file.read_text()))


def newest_changes(text):
    """Heading and text of the changelog's first section."""
    first = CHANGES.search(text)
    if first is None:
        raise ValueError("CHANGELOG.md has no section")
    following = CHANGES.search(text, first.end())
    return first[1], text[first.end():following.start() if following else len(text)].strip() + "\n"
