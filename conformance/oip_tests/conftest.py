"""Tests of the conformance suite itself, with doubles as the servers."""
import json
import os
import subprocess
import sys

import pytest

CONFORMANCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, CONFORMANCE)

from oip_conformance.double import Double  # noqa: E402 - the folder above is no package
from oip_conformance.double.server import fleet  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--part", default="0/1", metavar="I/N", help="of N parts of the tests the one with this number, from 0")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.getoption("--part").split("/"))
    items[:] = items[part::parts]


@pytest.fixture
def double():
    """A double with the suite's models."""
    with Double(fleet()) as started:
        yield started


class Run:
    """A run of oip-conformance in a process of its own, with its reports."""

    def __init__(self, folder, *arguments):
        self.report = folder / "report.json"
        environment = {**os.environ, "PYTHONPATH": CONFORMANCE, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-m", "oip_conformance", *arguments, "--json", str(self.report)], env=environment,
                              capture_output=True, text=True, timeout=600)  # guards against a suite that hangs
        self.status, self.text = done.returncode, done.stdout + done.stderr

    @property
    def cases(self):
        return {case["id"]: case for case in json.loads(self.report.read_text())["cases"]}

    def failed(self, prefix):
        """The reasons of failed cases."""
        return {id: case["reason"] for id, case in self.cases.items() if case["state"] == "failed" and id.startswith(prefix)}


@pytest.fixture
def suite(tmp_path):
    return lambda *arguments: Run(tmp_path, *arguments)


@pytest.fixture
def against(suite, double):
    """Runs the suite against the double."""
    return lambda *arguments: suite(double.rest, "--grpc", double.grpc, "--models", "double", *arguments)
