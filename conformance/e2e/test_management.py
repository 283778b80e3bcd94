"""Triton's extensions with the official clients, over both protocols, with an upstream of either protocol."""
import asyncio
import json
import os

import pytest
import tritonclient.grpc as tg
import tritonclient.http as th
import tritonclient.http.aio as ta
from tritonclient.utils import InferenceServerException

PATH = "/v2/models/simple/infer"


def refused(call, *statuses):
    with pytest.raises(InferenceServerException) as failure:
        call()
    assert failure.value.status() in statuses, failure.value
    return failure.value.message()


def test_repository_index(fleet_clients):
    http, grpc = fleet_clients
    over_http = {(m["name"], m.get("version", ""), m.get("state", "")) for m in http.get_model_repository_index()}
    assert ("simple", "1", "READY") in over_http and ("versioned", "3", "READY") in over_http
    assert {(m.name, m.version, m.state) for m in grpc.get_model_repository_index().models} == over_http


def test_repository_control(fleet_clients):
    """Triton was started without model control, and reports that."""
    http, grpc = fleet_clients
    for call in (http.load_model, http.unload_model):
        assert "explicit model load / unload is not allowed" in refused(lambda call=call: call("simple"), "503")
    for call in (grpc.load_model, grpc.unload_model):
        assert "explicit model load" in refused(lambda call=call: call("simple"), "StatusCode.UNAVAILABLE")


def test_asyncio_client(fleet):
    """It sends other content types than JSON, for each change. Triton was started without model control and tracing."""
    async def change():
        async with ta.InferenceServerClient(fleet) as client:
            level = (await client.get_log_settings())["log_verbose_level"]
            assert (await client.update_log_settings({"log_verbose_level": level}))["log_verbose_level"] == level
            outcomes = []
            for call in (
                lambda: client.load_model("simple"),
                lambda: client.load_model("simple", config="{}"),
                lambda: client.unload_model("simple"),
                lambda: client.update_trace_settings(settings={"trace_rate": "1000"}),
                lambda: client.register_system_shared_memory("aio", "/isthmus_aio", 64),
                lambda: client.unregister_system_shared_memory("aio"),
            ):
                try:
                    outcomes.append(await call())
                except InferenceServerException as failure:
                    assert failure.status() != "415", failure
                    outcomes.append(failure.message())
            return outcomes

    loads = asyncio.run(change())[:3]
    assert all("explicit model load" in text for text in loads), loads


def test_statistics(fleet_clients):
    http, grpc = fleet_clients
    [model] = http.get_inference_statistics("simple")["model_stats"]
    assert (model["name"], model["version"]) == ("simple", "1")
    success = model["inference_stats"]["success"]
    assert success["count"] > 0 and success["ns"] > 0 and type(success["ns"]) is int
    [message] = grpc.get_inference_statistics("simple").model_stats
    assert message.name == "simple" and message.inference_stats.success.count >= success["count"]
    assert len(http.get_inference_statistics()["model_stats"]) == len(grpc.get_inference_statistics().model_stats) > 10
    [one] = http.get_inference_statistics("versioned", "3")["model_stats"]
    assert one["version"] == "3"


def test_statistics_of_unknown_model(fleet_clients, fleet_rest):
    """Triton's response is not a server error."""
    http, grpc = fleet_clients
    refused(lambda: http.get_inference_statistics("nope"), "400", "404")
    refused(lambda: grpc.get_inference_statistics("nope"), "StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND")


def test_model_configuration(fleet_clients):
    """On either protocol a client gets Triton's own response, for every model."""
    http, grpc = fleet_clients
    with (th.InferenceServerClient(os.environ["TRITON_REST"]) as over_rest,
          tg.InferenceServerClient(os.environ["TRITON_GRPC"]) as over_grpc):
        models = [model["name"] for model in over_rest.get_model_repository_index()]
        assert len(models) > 10
        for model in models:
            assert http.get_model_config(model) == over_rest.get_model_config(model)
            assert grpc.get_model_config(model) == over_grpc.get_model_config(model)


def test_log_settings(fleet_clients):
    http, grpc = fleet_clients
    for level in (1, 0):
        assert http.update_log_settings({"log_verbose_level": level, "log_info": True})["log_verbose_level"] == level
        assert grpc.get_log_settings().settings["log_verbose_level"].uint32_param == level
    assert grpc.update_log_settings({"log_warning": False}).settings["log_warning"].bool_param is False
    assert http.get_log_settings()["log_warning"] is False
    assert grpc.update_log_settings({"log_warning": True}).settings["log_warning"].bool_param is True
    assert http.get_log_settings()["log_format"] == grpc.get_log_settings().settings["log_format"].string_param


def test_trace_settings(fleet_clients):
    """This Triton has tracing disabled: it reports that, or its settings."""
    http, grpc = fleet_clients
    answers = []
    for call in (lambda: http.get_trace_settings(), lambda: http.get_trace_settings("simple"),
                 lambda: grpc.get_trace_settings(), lambda: grpc.get_trace_settings("simple")):
        try:
            settings = call()
        except InferenceServerException as failure:
            answers.append(failure.message())
        else:
            found = settings if isinstance(settings, dict) else {k: list(v.value) for k, v in settings.settings.items()}
            answers.append({k: v if isinstance(v, list) else [v] for k, v in found.items()})
    assert answers[0] == answers[2] and answers[1] == answers[3]


def test_shared_memory_is_not_served(fleet_clients):
    """Only for upstreams with shared memory enabled."""
    http, grpc = fleet_clients
    for call in (lambda c: c.get_system_shared_memory_status(), lambda c: c.register_system_shared_memory("r", "/k", 64),
                 lambda c: c.unregister_system_shared_memory(), lambda c: c.get_cuda_shared_memory_status(),
                 lambda c: c.unregister_cuda_shared_memory()):
        assert "shared memory is not enabled" in refused(lambda call=call: call(http), "400")
        assert "shared memory is not enabled" in refused(lambda call=call: call(grpc), "StatusCode.INVALID_ARGUMENT")


def test_tensors_in_shared_memory(fleet_clients, fleet_rest):
    http, grpc = fleet_clients
    import tritonclient.grpc as tg

    for module, client, status in ((th, http, "400"), (tg, grpc, "StatusCode.INVALID_ARGUMENT")):
        inputs = [module.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
        for tensor in inputs:
            tensor.set_shared_memory("region", 64)
        message = refused(lambda client=client, inputs=inputs: client.infer("simple", inputs), status)
        assert "INPUT0" in message and "shared memory" in message
    tensor = {"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [1] * 16}
    body = {"inputs": [tensor, dict(tensor, name="INPUT1")],
            "outputs": [{"name": "OUTPUT0", "parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 64}}]}
    message = fleet_rest.refused(400, "POST", PATH, body)
    assert "OUTPUT0" in message and "shared memory" in message


def test_not_served_locally(rest, gateway):
    """A JSON document, or an error in the standard form, from every server."""
    for method, path in (("POST", "/v2/repository/index"), ("GET", "/v2/models/stats"), ("GET", "/v2/logging")):
        status, fields, text = rest.ask(method, path, b"" if method == "POST" else None)
        assert fields["content-type"] == "application/json"
        assert status == 200 or (status == 501 and list(json.loads(text)) == ["error"])
