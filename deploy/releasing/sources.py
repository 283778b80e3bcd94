"""Builds all of a release that is the same each time, from its sources archive."""

import datetime
import gzip
import io
import os
import shutil
import subprocess
import tarfile

from . import files, versions


def commit_of(archive):
    """Id and time of the commit that `git archive` packed. ValueError if it is another archive."""
    with tarfile.open(archive) as packed:
        first = packed.next()
        commit = packed.pax_headers.get("comment", "")
        if len(commit) != 40 or first is None:
            raise ValueError(f"{archive} was not made by `git archive`: it names no commit")
        return commit, int(first.mtime)


def build(archive, work, version, folder):
    """Unpacks the archive in the folder `work` and puts distribution, wheel, chart, SBOM and changes into `folder`."""
    commit, time = commit_of(archive)
    with tarfile.open(archive) as packed:
        packed.extractall(work, filter="tar")
    checkout = work / f"isthmus-sources-{version}"
    names = files.Names(version)
    distribution(checkout, commit, time)
    wheel(checkout, time)
    shutil.copy(checkout / "gateway/app/target" / names.distribution, folder)
    shutil.copy(checkout / "conformance/target" / names.wheel, folder)
    chart(checkout / "deploy/helm/isthmus", folder / names.chart, time)
    (folder / names.sbom).write_bytes(files.files_of(folder / names.distribution, r"^[^/]+/sbom\.cdx\.json$")["sbom.cdx.json"])
    (folder / names.changes).write_text(versions.newest_changes((checkout / "CHANGELOG.md").read_text())[1])


def distribution(checkout, commit, time):
    stamp = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    subprocess.run(["./mvnw", "-B", "-ntp", "-q", "-DskipTests", "-Dwithout.tests", "-pl", "gateway/app", "-am", f"-Dcommit={commit[:12]}",
                    f"-Dproject.build.outputTimestamp={stamp}", "package"], cwd=checkout, check=True)


def wheel(checkout, time):
    subprocess.run([checkout / "conformance/wheel", checkout / "conformance/target"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})


def chart(folder, archive, time):
    """As `helm package` does, with the commit's time."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            member = tarfile.TarInfo(f"isthmus/{file.relative_to(folder)}")
            member.size, member.mtime, member.mode = file.stat().st_size, time, 0o644
            packed.addfile(member, io.BytesIO(file.read_bytes()))
    archive.write_bytes(gzip.compress(content.getvalue(), 9, mtime=0))
