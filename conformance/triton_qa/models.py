"""The models of qa/L0_infer, for a Triton that has the python backend only."""
import re
import shutil
import subprocess
from pathlib import Path

# In the names of tests: test_raw_iff sends INT32 and expects FP32 twice.
TYPES = {"b": "int8", "s": "int16", "i": "int32", "l": "int64", "h": "float16", "f": "float32", "o": "object", "u": "uint8"}
STEP = re.compile(r'model_name: "([^"]+)"')
HELPERS = ("nop_", "custom_")  # models that only steps of ensembles use
# In the place of Triton's backend 'identity', which has as many outputs as inputs.
IDENTITY = '''import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor(each.name().replace("INPUT", "OUTPUT"), each.as_numpy())
                                            for each in request.inputs()]) for request in requests]
'''


def generate(qa, python, folder, log, tests=()):
    """Writes the repository of models to a new folder: those that Triton's generator makes for ONNX and as ensembles.

    qa      the folder qa of Triton's sources
    python  a Python with onnx
    tests   names of the tests that are run; only their models are kept, if the names tell which those are
    """
    subprocess.run([python, "gen_qa_models.py", "--models_dir", folder, "--onnx", "--ensemble"], cwd=qa / "common", check=True,
                   stdout=log, stderr=subprocess.STDOUT)
    for each in (qa / "ensemble_models").iterdir():
        shutil.copytree(each, folder / each.name)
    custom_identities(qa, folder)
    kinds = kinds_of(tests)
    for model in folder.iterdir():
        if "bf16" in model.name or kinds and not model.name.startswith(HELPERS) and not model.name.endswith(kinds):
            shutil.rmtree(model)
        else:
            made_for_python(model, qa / "python_models")
    remove_incomplete(folder)


def kinds_of(tests):
    """The ends of the names of all models that these tests use; none if their names do not tell it."""
    letters = [re.fullmatch(r"test_(raw|class|mix)_([bsilhfou]{3})", test) for test in tests]
    return tuple({"_".join(TYPES[letter] for letter in each[2]) for each in letters}) if all(letters) else ()


def custom_identities(qa, folder):
    """Two models of the ensembles, which test.sh makes of one by other dimensions."""
    one = (qa / "custom_models/custom_zero_1_float32/config.pbtxt").read_text()
    for name, batch, dims in (("custom_zero_1_float32", 8, "-1"), ("custom_nobatch_zero_1_float32", 0, "-1, -1")):
        (folder / name).mkdir()
        (folder / name / "config.pbtxt").write_text(
            one.replace("custom_zero_1_float32", name).replace("max_batch_size: 1", f"max_batch_size: {batch}").replace("dims: [ 1 ]", f"dims: [ {dims} ]"))


def made_for_python(model, sources):
    """Puts a model of the python backend in the place of one for ONNX or of the backend 'identity'. Versions 2 and 3 subtract
    first, as those for ONNX do."""
    config = model / "config.pbtxt"
    text = config.read_text()
    (model / "1").mkdir(exist_ok=True)
    for version in model.glob("[0-9]"):
        if "onnxruntime_onnx" in text:
            shutil.copy(sources / ("add_sub" if version.name == "1" else "sub_add") / "model.py", version)
            (version / "model.onnx").unlink()
        elif 'backend: "identity"' in text:
            (version / "model.py").write_text(IDENTITY)
    config.write_text(text.replace('platform: "onnxruntime_onnx"', 'backend: "python"').replace('backend: "identity"', 'backend: "python"'))


def remove_incomplete(folder):
    """Removes ensembles with a step that has no model, those that are then incomplete as well, and identities that none needs."""
    while incomplete := [each for each in folder.iterdir() if any(not (folder / step).exists() for step in steps(each))]:
        for each in incomplete:
            shutil.rmtree(each)
    needed = {step for each in folder.iterdir() for step in steps(each)}
    for each in folder.iterdir():
        if each.name.startswith(HELPERS) and each.name not in needed:
            shutil.rmtree(each)


def steps(model: Path):
    """The names of the models of an ensemble."""
    return STEP.findall((model / "config.pbtxt").read_text())
