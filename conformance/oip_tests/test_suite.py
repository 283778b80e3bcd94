"""The suite against a server that is right; what it lists and writes."""
import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import CONFORMANCE

from oip_conformance import expected, listing, page, report
from oip_conformance.basis import DOCUMENTS, PROFILES, READING, STATED, basis_of, unused_patterns
from oip_conformance.chapters import CASES
from oip_conformance.double import Double, Fault
from oip_conformance.running import DISPUTED, FAILED, NOT_APPLICABLE, PASSED, Outcome, judged, score

ABOUT = report.About("127.0.0.1:1", None, "a <server> & \x00\ud800", "discover", "1", ("core",))
NASTY = "]]> <script>alert(1)</script> & \" ' \x00\x1b\ud800 \U0001f600"


def test_double_passesCoreAndBinary(against):
    run = against("--profile", "core", "binary", "--timeout", "60")
    assert run.status == 0, run.text
    assert sum(case["state"] == "passed" for case in run.cases.values()) > 400


def test_discovery_ofModels_fromTheirMetadata(suite, double):
    run = suite(double.rest, "--grpc", double.grpc, "--profile", "core", "binary", "--timeout", "60")
    assert run.status == 0, run.text
    states = {id: case["state"] for id, case in run.cases.items()}
    assert states["models.answer.json"] == states["datatypes.grpc-raw.FP32"] == states["shapes.refused.too-few"] == PASSED
    assert states["parameters.rest.text"] == NOT_APPLICABLE


def test_discovery_ofOneModel_withFixedShape(suite):
    """A model that is no identity: its responses are compared with its metadata."""
    model = {"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
             "outputs": [{"name": "y", "datatype": "INT64", "shape": [-1]}, {"name": "text", "datatype": "BYTES", "shape": [-1, 2]}]}
    with Double([model]) as double:
        run = suite(double.rest, "--grpc", double.grpc, "--model", "m", "--profile", "core", "--timeout", "60")
    assert run.status == 0, run.text
    assert run.cases["models.grpc.grpc-typed"]["state"] == PASSED
    assert run.cases["errors.input.wrong-shape"]["state"] == PASSED


@pytest.mark.parametrize("arguments", [
    [], ["ftp://127.0.0.1:1"], ["127.0.0.1"], ["127.0.0.1:99999"], ["127.0.0.1:1", "--only", "nothing."],
    ["127.0.0.1:1", "--timeout", "0"], ["127.0.0.1:1", "--profile", "other"], ["127.0.0.1:1", "--expected", "missing.txt"],
    ["127.0.0.1:1", "--models", "triton", "--model", "m"], ["127.0.0.1:1", "--profile", "gateway", "--chapter", "health"],
    ["127.0.0.1:1", "--insecure"], ["127.0.0.1:1", "--ca-file", "ca.pem"], ["https://127.0.0.1:1", "--ca-file", "missing.pem"],
    ["https://127.0.0.1:1", "--ca-file", "ca.pem", "--insecure"], ["https://127.0.0.1:1", "--key", "key.pem"],
    ["https://127.0.0.1:1", "--cert", "missing.pem"], ["127.0.0.1:1", "--grpc", "grpcs://127.0.0.1:1"]])
def test_usage_wrong_isTold(suite, arguments):
    run = suite(*arguments)
    assert run.status == 2 and "oip-conformance: " in run.text and "Traceback" not in run.text


def test_address_whereNothingListens_isUnreachable(suite):
    with Double([{"name": "m"}]) as double:
        address = double.rest
    assert suite(address, "--timeout", "1").status == 3


# ---------------------------------------------------------------- what each case rests on

def test_cases_haveAProfileAndASection():
    for case in CASES:
        basis = basis_of(case.id)
        assert basis.profile in PROFILES and basis.document in DOCUMENTS and basis.section, case.id
        assert basis.strength in (STATED, READING) and case.about, case.id
    assert unused_patterns([case.id for case in CASES]) == []
    assert len(CASES) > 1000


def test_casesPage_isUpToDate():
    assert Path(CONFORMANCE, "CASES.md").read_text() == listing.markdown(), \
        "run PYTHONPATH=conformance python -m oip_conformance list --markdown > conformance/CASES.md"


# ---------------------------------------------------------------- expected failures and disputes

def written(tmp_path, text):
    path = tmp_path / "expected.txt"
    path.write_text(text)
    return str(path)


def test_failure_expected_isNoFailure(double, against, tmp_path):
    double.faults.put("identity_int8", Fault(kind="error"))
    file = written(tmp_path, "# INT8 is to come\nfailure  datatypes.*.INT8  not yet\n")
    run = against("--only", "datatypes.json.", "--expected", file, "--timeout", "60")
    assert run.status == 0, run.text
    assert "Failed as expected\n  datatypes.json.INT8" in run.text
    assert run.cases["datatypes.json.INT8"]["expected"] == "not yet"


def test_failure_expectedOfAPassingCase_isASurprise(against, tmp_path):
    run = against("--only", "datatypes.json.", "--expected", written(tmp_path, "failure datatypes.json.INT8 not yet"), "--timeout", "60")
    assert run.status == 1
    assert "Passed against expectation\n  datatypes.json.INT8" in run.text


def test_case_disputed_isShown_andNotCounted(double, against, tmp_path):
    double.faults.put("identity_int8", Fault(kind="error", message="we have no INT8"))
    badge = tmp_path / "badge.svg"
    run = against("--only", "datatypes.json.", "--expected", written(tmp_path, "disputed datatypes.json.INT8 why should we"),
                  "--badge", str(badge), "--timeout", "60")
    assert run.status == 0, run.text
    case = run.cases["datatypes.json.INT8"]
    assert case["state"] == DISPUTED and case["dispute"] == "why should we" and "we have no INT8" in case["reason"]
    assert "1 disputed" in badge.read_text() and "100.0 %" in badge.read_text()


@pytest.mark.parametrize("line", ["failure datatypes.json.INT8", "maybe datatypes.json.INT8 why", "failure nothing.like.this why", "failure"])
def test_expectedFile_wrong_isTold(tmp_path, line):
    path = written(tmp_path, "\n" + line)
    with pytest.raises(expected.ExpectedFileError, match=r"expected.txt:2: "):
        expected.read(path, [case.id for case in CASES])


def test_writtenExpectations_holdForTheSameServer(double, against, tmp_path):
    double.faults.put("identity_int8", Fault(kind="nonsense"))
    file = str(tmp_path / "written.txt")
    assert against("--only", "datatypes.json.", "--write-expected", file, "--timeout", "60").status == 1
    assert against("--only", "datatypes.json.", "--expected", file, "--timeout", "60").status == 0


# ---------------------------------------------------------------- reports

@pytest.fixture
def outcomes():
    """One outcome of each kind, with texts that break careless writers."""
    none = expected.Expectations(())
    failing = expected.Expectations((expected.Entry("failure", "*", NASTY),))
    disputed = expected.Expectations((expected.Entry("disputed", "*", NASTY),))
    rows = ((PASSED, none), (FAILED, none), (FAILED, failing), (PASSED, failing), (FAILED, disputed), (NOT_APPLICABLE, none))
    return [judged(case, state, NASTY, 0.5, expectations) for case, (state, expectations) in zip(CASES, rows)]


def test_junit_isXml_withSurprisesAsFailures(outcomes):
    root = ElementTree.fromstring(report.junit(outcomes, ABOUT).encode("utf-8"))
    assert len(root.findall(".//testcase")) == 6
    assert [len(root.findall(".//" + kind)) for kind in ("failure", "skipped")] == [2, 3]
    assert root.get("failures") == "2"


def test_html_escapesWhatServersSend(outcomes):
    tags = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append(tag)

    made = page.html(outcomes, ABOUT)
    Parser().feed(made)
    made.encode("utf-8")
    assert "script" not in tags and tags.count("tr") > 6
    assert "Disputed" in made or "disputed" in made


def test_json_isRead_withEachCase(outcomes):
    made = json.loads(report.to_json(outcomes, ABOUT))
    assert [made[key] for key in ("passed", "failed", "disputed", "not_applicable", "surprises")] == [2, 2, 1, 1, 2]
    assert made["cases"][1]["url"].startswith("https://") and made["cases"][1]["section"]


def test_badge_isXml(outcomes):
    assert ElementTree.fromstring(report.badge(outcomes)).tag.endswith("svg")


def test_score_ofNothing_isZero():
    assert score([Outcome(CASES[0], NOT_APPLICABLE)]) == 0 and report.share([Outcome(CASES[0], NOT_APPLICABLE)]) == "-"
