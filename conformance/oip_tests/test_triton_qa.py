"""triton-qa without Triton: how tests are run and judged, and the models for a Triton with the python backend only."""
import sys
import types
import unittest

import pytest

from triton_qa import models, tests
from triton_qa.__main__ import table, worse


@pytest.fixture
def outcomes(monkeypatch):
    """What the tests of a module in the place of Triton's came to."""
    infer_util = types.ModuleType("infer_util")
    infer_util.infer_exact = lambda value: value

    class InferTest(unittest.TestCase):
        def test_passes(self):
            infer_util.infer_exact(1)
            infer_util.infer_exact(value=2)

        def test_fails(self):
            self.assertEqual(infer_util.infer_exact(1), 2)

        def test_ends_with_an_error(self):
            raise OSError("connection\nrefused")

        def test_sends_nothing(self):
            pass

        @unittest.skip("not here")
        def test_is_skipped(self):
            raise AssertionError

    infer_test = types.ModuleType("infer_test")
    infer_test.InferTest = InferTest
    monkeypatch.setitem(sys.modules, "infer_test", infer_test)
    monkeypatch.setitem(sys.modules, "infer_util", infer_util)
    return lambda *patterns: tests.run(patterns)


def test_outcomes_haveStateReasonAndInferences(outcomes):
    assert outcomes("*") == {
        "test_passes": {"state": "passed", "reason": "", "inferences": 2},
        "test_fails": {"state": "failed", "reason": "AssertionError: 1 != 2", "inferences": 1},
        "test_ends_with_an_error": {"state": "failed", "reason": "OSError: connection refused", "inferences": 0},
        "test_sends_nothing": {"state": "nothing sent", "reason": "", "inferences": 0},
        "test_is_skipped": {"state": "skipped", "reason": "not here", "inferences": 0}}


def test_patterns_chooseTests(outcomes):
    assert list(outcomes("test_p*", "*nothing")) == ["test_passes", "test_sends_nothing"]


def run(**states):
    return {name: {"state": state, "reason": "why" * (state == "failed"), "inferences": 1} for name, state in states.items()}


@pytest.mark.parametrize("through, expected", [
    (run(a="passed", b="failed"), []), (run(a="failed", b="failed"), ["a"]), (run(b="passed"), ["a"]),
    (run(a="nothing sent", b="failed"), ["a"])])
def test_testThatPassesDirectly_mustPassThroughTheGateway(through, expected):
    runs = {"direct": run(a="passed", b="failed"), "other": run(a="passed"), "Isthmus, grpc": through}
    assert worse(runs) == expected


def test_table_hasEachTest_withReasons_andTotals():
    lines = table({"direct": run(a="passed", b="failed"), "Isthmus, grpc": run(a="passed")}).splitlines()
    assert [line.split() for line in lines[1:4]] == [["a", "passed", "passed"], ["b", "failed", "missing"], ["direct:", "why"]]
    assert lines[4:] == ["direct: 1 passed, 1 failed; 2 calls of infer_exact", "Isthmus, grpc: 1 passed; 1 calls of infer_exact"]


@pytest.mark.parametrize("names, expected", [
    (["test_raw_fff", "test_class_iff"], {"float32_float32_float32", "int32_float32_float32"}), (["test_mix_ooi"], {"object_object_int32"}),
    (["test_raw_fff", "test_ensemble_mix_type"], set()), (["test_raw_version_latest_1"], set()), ([], set())])
def test_names_tellTheModelsThatTestsUse(names, expected):
    assert set(models.kinds_of(names)) == expected


def model(folder, name, config, *versions):
    (folder / name).mkdir()
    (folder / name / "config.pbtxt").write_text(config)
    for version in versions:
        (folder / name / version).mkdir()
        (folder / name / version / "model.onnx").touch()
    return folder / name


def test_models_getCodeForTheirVersions_andThePythonBackend(tmp_path):
    for name in ("add_sub", "sub_add"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(name)
    onnx = model(tmp_path, "onnx_a", 'platform: "onnxruntime_onnx"\nmax_batch_size: 8', "1", "3")
    identity, ensemble = model(tmp_path, "nop_a", 'backend: "identity"'), model(tmp_path, "simple_a", 'platform: "ensemble"')
    for each in (onnx, identity, ensemble):
        models.made_for_python(each, tmp_path)
    assert [(onnx / version / "model.py").read_text() for version in "13"] == ["add_sub", "sub_add"]
    assert [(each / "config.pbtxt").read_text() for each in (onnx, identity, ensemble)] == [
        'backend: "python"\nmax_batch_size: 8', 'backend: "python"', 'platform: "ensemble"']
    assert [*onnx.rglob("*.onnx")] == [] and (identity / "1/model.py").exists() and [*(ensemble / "1").iterdir()] == []


def test_identitiesOfEnsembles_areMadeOfOne(tmp_path):
    source = tmp_path / "custom_models/custom_zero_1_float32"
    source.mkdir(parents=True)
    (source / "config.pbtxt").write_text('name: "custom_zero_1_float32"\nmax_batch_size: 1\ninput [ { dims: [ 1 ] } ]')
    (tmp_path / "models").mkdir()
    models.custom_identities(tmp_path, tmp_path / "models")
    assert {each.parent.name: each.read_text() for each in (tmp_path / "models").glob("*/config.pbtxt")} == {
        "custom_zero_1_float32": 'name: "custom_zero_1_float32"\nmax_batch_size: 8\ninput [ { dims: [ -1 ] } ]',
        "custom_nobatch_zero_1_float32": 'name: "custom_nobatch_zero_1_float32"\nmax_batch_size: 0\ninput [ { dims: [ -1, -1 ] } ]'}


def test_ensembles_withoutTheirModels_areRemoved_withWhatNobodyNeeds(tmp_path):
    step = 'model_name: "%s"'.__mod__
    for name, config in {"onnx_a": "", "nop_1": "", "nop_2": "", "simple_a": step("onnx_a") + step("nop_1"), "simple_b": step("onnx_b"),
                         "outer": step("simple_b") + step("nop_2")}.items():
        model(tmp_path, name, config)
    models.remove_incomplete(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["nop_1", "onnx_a", "simple_a"]
