"""A double: its models, and both servers."""
import threading
from collections import Counter
from importlib.resources import as_file, files

from .. import __version__
from . import models as model_files
from . import rpc
from .faults import NONE, Faults
from .inference import ServerError
from .rest import RestServer

EXTENSIONS = ["binary_tensor_data", "model_repository"]


class State:
    """What both servers share."""

    def __init__(self, models, seed, on_crash):
        self._models = {model.name: model for model in models}
        self._unloaded = set()
        self._calls, self._lock = Counter(), threading.Lock()
        self.faults, self.stopping, self.crash = Faults(seed), threading.Event(), on_crash
        for model in models:
            if model.fault != NONE:
                self.faults.put(model.name, model.fault)

    def model(self, name, ready=False):
        model = self._models.get(name)
        if model is None:
            raise ServerError(404, f"model '{name:.100}' is unknown, expected one of {', '.join(self._models)}")
        if ready and name in self._unloaded:
            raise ServerError(503, f"model '{name}' is not loaded")
        return model

    def metadata(self):
        return {"name": "oip-double", "version": __version__, "extensions": EXTENSIONS}

    def model_metadata(self, name):
        return self.model(name).metadata(drifts=self.faults.drifts_metadata(name))

    def ready(self, name):
        self.model(name)
        if name in self._unloaded:
            raise ServerError(400, f"model '{name}' is not ready")
        return {"name": name, "ready": True}

    def load(self, name, load):
        self.model(name)
        (self._unloaded.discard if load else self._unloaded.add)(name)
        return {}

    def index(self):
        return [{"name": model.name, "version": version, "state": "UNAVAILABLE" if model.name in self._unloaded else "READY", "reason": ""}
                for model in self._models.values() for version in model.versions]

    def count(self, name):
        with self._lock:
            self._calls[name] += 1

    def calls(self):
        with self._lock:
            return dict(self._calls)


class Double:
    """A server of models on free ports of loopback, or on given ones, until it is closed.

        with Double([{"name": "m", "inputs": [...], "outputs": [...]}]) as double:
            client = InferenceServerClient(double.rest)
            double.faults.put(None, Fault(kind="hang"))

    models   metadata of models as the protocol has them, with the key "double" for their answers, or a file of them
    """

    def __init__(self, models, host="127.0.0.1", http_port=0, grpc_port=0, seed=0, on_crash=None):
        made = model_files.read(models) if isinstance(models, str) else [
            one if isinstance(one, model_files.Model) else model_files.model_of(one) for one in models]
        if len({model.name for model in made}) != len(made):
            raise model_files.ModelError(f"models are {[model.name for model in made]}, expected each name once")
        self._state = State(made, seed, on_crash or self._fall)
        self.faults = self._state.faults
        around = f"[{host}]" if ":" in host else host
        self._http = RestServer((host, http_port), self._state)
        try:
            self._grpc, port = rpc.start(f"{around}:{grpc_port}", self._state)
        except OSError:
            self._http.server_close()
            raise
        self.rest, self.grpc = f"{around}:{self._http.server_address[1]}", f"{around}:{port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def calls(self):
        """The number of inferences by model."""
        return self._state.calls()

    def _fall(self):
        """A crash of a double in the process of a test: both servers end at once."""
        threading.Thread(target=self.close, daemon=True).start()

    def close(self):
        self._state.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def fleet():
    """The models of the suite, as metadata files have them."""
    with as_file(files(__package__).joinpath("fleet.json")) as path:
        return str(path)
