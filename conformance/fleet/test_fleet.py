"""One fleet of two real Tritons, one MLServer and the local backend, tested with the official clients.

The tests run in this order; the last one kills a Triton.
"""
import os
import signal

import numpy as np
import pytest
import tritonclient.grpc as tg
import tritonclient.http as th
from conftest import ADMIN, FLEET, ask, check_simple, eventually, metric, simple_inputs
from tritonclient.utils import InferenceServerException

TRITONS = [os.environ["TRITON_A"], os.environ["TRITON_B"]]


def served_by(address, model):
    """The number of executions of a model on one Triton."""
    with tg.InferenceServerClient(address) as client:
        stats = client.get_inference_statistics(model).model_stats
        return sum(int(s.inference_stats.success.count) for s in stats)


def fp32(module, values):
    value = np.array([values], np.float32)
    tensor = module.InferInput("INPUT0", value.shape, "FP32")
    tensor.set_data_from_numpy(value)
    return tensor


# --- catalogue ---------------------------------------------------------------------------------------------------------


def test_ready(rest, grpc):
    assert rest.is_server_live() and rest.is_server_ready() and grpc.is_server_ready()
    for model in ("simple", "echo", "iris", "numbers"):
        assert rest.is_model_ready(model) and grpc.is_model_ready(model), model
    with pytest.raises(InferenceServerException) as failure:
        grpc.is_model_ready("nowhere_to_be_found")
    assert failure.value.status() == "StatusCode.NOT_FOUND"


def test_index_is_one_list_of_all_servers(rest, grpc):
    over_rest = {(m["name"], m.get("version", "")): m for m in rest.get_model_repository_index()}
    assert over_rest["simple", "1"]["state"] == "READY"
    assert any(name == "iris" for name, _ in over_rest), "MLServer's models are there, too"
    over_grpc = {(m.name, m.version): m.state for m in grpc.get_model_repository_index().models}
    assert over_grpc == {key: m.get("state", "") for key, m in over_rest.items()}


def test_metadata_of_a_renamed_model(rest, grpc):
    for name, inputs in ((rest.get_model_metadata("echo")["name"], rest.get_model_metadata("echo")["inputs"]),):
        assert name == "echo" and inputs[0]["name"] == "INPUT0"
    assert grpc.get_model_metadata("echo").name == "echo"


def test_servers_of_other_upstreams_are_no_drift(rest):
    """The local 'simple' is not a Triton model: its platform differs, as it may."""
    assert rest.get_model_metadata("simple")["name"] == "simple"
    assert not any(m["name"] == "simple" for m in ask(ADMIN, "GET", "/drift")[2]["models"])
    assert metric("isthmus_model_drift", model="simple") == 0


def test_canary_between_versions_is_no_drift(rest):
    assert rest.get_model_metadata("split")["versions"] == ["1", "3"]
    assert metric("isthmus_model_drift", model="split") == 0
    assert not any(m["name"] == "split" for m in ask(ADMIN, "GET", "/drift")[2]["models"])


# --- routing -----------------------------------------------------------------------------------------------------------


def test_renamed_both_ways(rest, grpc):
    for client, module in ((rest, th), (grpc, tg)):
        result = client.infer("echo", [fp32(module, [1.5, 2.5])], headers={"x-user": "stable-user-1"})
        answer = result.get_response()
        name = answer["model_name"] if isinstance(answer, dict) else answer.model_name
        assert name == "echo"


def test_labels_of_versions(rest, grpc):
    def value(client, module, version):
        tensor = module.InferInput("INPUT0", [1], "INT32")
        tensor.set_data_from_numpy(np.array([0], np.int32))
        result = client.infer("numbers", [tensor], model_version=version)
        answer = result.get_response()
        return answer["model_version"] if isinstance(answer, dict) else answer.model_version

    for client, module in ((rest, th), (grpc, tg)):
        assert value(client, module, "stable") == "1"
        assert value(client, module, "next") == "3"
        assert value(client, module, "") == "1"


def test_wildcard_goes_where_the_pattern_says(rest):
    result = rest.infer("identity_fp32", [fp32(th, [3.0])])
    assert result.as_numpy("OUTPUT0").tolist() == [[3.0]]


def test_unknown_model(rest, grpc):
    with pytest.raises(InferenceServerException) as failure:
        grpc.infer("nowhere_to_be_found", [fp32(tg, [1.0])])
    assert failure.value.status() == "StatusCode.NOT_FOUND"


# --- canary ------------------------------------------------------------------------------------------------------------


def outputs(result):
    answer = result.get_response()
    found = answer["outputs"] if isinstance(answer, dict) else answer.outputs
    return [o["name"] if isinstance(o, dict) else o.name for o in found]


def test_header_chooses_the_canary(rest, grpc):
    """MLServer's identity names its output like the input, Triton's OUTPUT0."""
    for client, module in ((rest, th), (grpc, tg)):
        result = client.infer("echo", [fp32(module, [1.0])], headers={"x-canary": "yes"})
        assert outputs(result) == ["INPUT0"]


def test_split_and_stickiness(grpc):
    arms = {}
    for user in range(300):
        for _ in range(2):
            result = grpc.infer("echo", [fp32(tg, [1.0])], headers={"x-user": "user-%d" % user})
            arms.setdefault(user, set()).add(outputs(result)[0])
    assert all(len(seen) == 1 for seen in arms.values()), "a user stays on one arm"
    canary = sum(seen == {"INPUT0"} for seen in arms.values())
    assert 30 <= canary <= 95, "20 % of 300 users, got %d" % canary
    assert metric("isthmus_requests_seconds_count", model="echo") >= 600


def test_sequences_stay_on_one_server(grpc):
    """Only the server where a sequence began accepts its further requests."""
    for sequence in range(1001, 1009):
        for step in range(1, 6):
            tensor = tg.InferInput("INPUT", [1, 1], "INT32")
            tensor.set_data_from_numpy(np.array([[step]], np.int32))
            result = grpc.infer("simple_sequence", [tensor], sequence_id=sequence, sequence_start=step == 1,
                                sequence_end=step == 5)
            assert int(result.as_numpy("OUTPUT")[0][0]) == step + (step == 1), (sequence, step)


def test_both_tritons_serve(grpc):
    before = [served_by(address, "simple") for address in TRITONS]
    for n in range(60):
        inputs, added, subtracted = simple_inputs(tg, n)
        check_simple(grpc.infer("simple", inputs), added, subtracted)
    after = [served_by(address, "simple") for address in TRITONS]
    assert all(b > a for a, b in zip(before, after))


# --- shadow ------------------------------------------------------------------------------------------------------------


def test_shadow_is_compared(rest):
    before = metric("isthmus_shadow_requests_total", model="simple", outcome="answered")
    for n in range(20):
        inputs, added, subtracted = simple_inputs(th, n)
        check_simple(rest.infer("simple", inputs), added, subtracted)
    eventually(lambda: metric("isthmus_shadow_requests_total", model="simple", outcome="answered") >= before + 10)
    eventually(lambda: metric("isthmus_shadow_max_difference_count", model="simple") > 0)
    assert metric("isthmus_shadow_max_difference_sum", model="simple") == 0


# --- management --------------------------------------------------------------------------------------------------------


def test_statistics_are_summed(rest, grpc):
    each = sum(served_by(address, "identity_fp32") for address in TRITONS)
    [merged] = grpc.get_inference_statistics("identity_fp32").model_stats
    assert int(merged.inference_stats.success.count) == each > 0
    [over_rest] = rest.get_inference_statistics("identity_fp32")["model_stats"]
    assert int(over_rest["inference_stats"]["success"]["count"]) == each


def ready_on(address, model):
    with tg.InferenceServerClient(address) as client:
        return client.is_model_ready(model)


def test_unload_and_load_reach_every_server(rest, grpc):
    grpc.unload_model("identity_int8")
    eventually(lambda: not any(ready_on(address, "identity_int8") for address in TRITONS))
    eventually(lambda: not rest.is_model_ready("identity_int8"))
    rest.load_model("identity_int8")
    eventually(lambda: all(ready_on(address, "identity_int8") for address in TRITONS))
    eventually(lambda: grpc.is_model_ready("identity_int8"))


def test_model_on_one_server_only(grpc):
    """If one server has unloaded a model, the other serves it."""
    with tg.InferenceServerClient(TRITONS[0]) as client:
        client.unload_model("identity_int16")
        eventually(lambda: not client.is_model_ready("identity_int16"))
    try:
        eventually(lambda: metric("isthmus_model_ready", model="lonely") == 1)
        tensor = tg.InferInput("INPUT0", [1, 1], "INT16")
        tensor.set_data_from_numpy(np.array([[7]], np.int16))

        def all_answer():
            try:
                return all(grpc.infer("lonely", [tensor]).as_numpy("OUTPUT0")[0][0] == 7 for _ in range(10))
            except InferenceServerException:
                return False

        eventually(all_answer)
    finally:
        with tg.InferenceServerClient(TRITONS[0]) as client:
            client.load_model("identity_int16")


# --- failover ----------------------------------------------------------------------------------------------------------


def test_a_killed_server_costs_nothing(rest, grpc):
    # The previous test unloaded a model, after which a server reports that it is not ready.
    eventually(lambda: metric("isthmus_endpoint_healthy", upstream="triton") == 2)
    os.kill(int(os.environ["TRITON_B_PID"]), signal.SIGKILL)
    for n in range(100):
        for client, module in ((grpc, tg), (rest, th)):
            inputs, added, subtracted = simple_inputs(module, n)
            check_simple(client.infer("simple", inputs), added, subtracted)
    eventually(lambda: metric("isthmus_endpoint_healthy", upstream="triton") == 1)
    assert rest.is_server_ready() and rest.is_model_ready("simple")


def test_the_local_backend_takes_over(grpc):
    """The upstream 'second' is the killed Triton; its model falls back to the embedded one."""
    inputs, added, subtracted = simple_inputs(tg, 5)
    result = grpc.infer("simple_with_fallback", inputs)
    check_simple(result, added, subtracted)
    assert result.get_response().model_name == "simple_with_fallback"
