#!/usr/bin/env python3
"""Checks the OpenAPI documents of a gateway with foreign programs, and that the example of every model works.

Usage: check.py URL CLIENT_MODEL [MODEL=REASON...]

Each document is validated by openapi-spec-validator; each example and its response by the schemas of the document. A client that
openapi-python-client generates from the document of CLIENT_MODEL makes an inference. Models whose metadata do not tell what they
want are named with the reason; their documents are validated, too.
"""
import importlib
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator


def ask(url, body=None):
    """Status and document of one request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as failure:
        return failure.code, json.load(failure)


def document(url):
    status, found = ask(url)
    assert status == 200, (url, status, found)
    OpenAPIV31SpecValidator(found).validate()
    return found


def schema(spec, name):
    return Draft202012Validator({"$ref": "#/components/schemas/" + name, "components": spec["components"]})


def infer_path(spec):
    return next(path for path in spec["paths"] if path.endswith("/infer"))


def example(spec):
    return spec["paths"][infer_path(spec)]["post"]["requestBody"]["content"]["application/json"].get("example")


def check_model(url, name, version, unlike):
    path = "/v2/models/" + urllib.parse.quote(name, safe="") + ("/versions/" + version if version else "")
    spec = document(url + path + "/openapi.json")
    assert infer_path(spec) == path + "/infer", list(spec["paths"])
    request = example(spec)
    if name in unlike:
        return "not tried: " + unlike[name]
    if request is None:
        comment = spec["components"]["schemas"]["ModelInferRequest"]["$comment"]
        assert comment.startswith("no example: "), comment
        return comment
    schema(spec, "ModelInferRequest").validate(request)
    for wrong in ({}, {"inputs": [dict(request["inputs"][0], name="nobody")]},
                  {"inputs": [dict(request["inputs"][0], data=[{}])]}):
        assert list(schema(spec, "ModelInferRequest").iter_errors(wrong)), wrong
    status, response = ask(url + infer_path(spec), request)
    assert status == 200, (name, request, response)
    schema(spec, "ModelInferResponse").validate(response)
    return "answered"


def generated_client(url, model):
    """An inference by a generated client, which knows the document only."""
    spec = document(url + "/v2/models/" + model + "/openapi.json")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/openapi.json", "w") as file:
            json.dump(spec, file)
        with open(folder + "/config.yaml", "w") as file:
            file.write("post_hooks: []\n")
        generated = subprocess.run(
            [sys.executable, "-m", "openapi_python_client", "generate", "--path", folder + "/openapi.json", "--meta", "none",
             "--fail-on-warning", "--config", folder + "/config.yaml", "--output-path", folder + "/generated_client"],
            capture_output=True, text=True)
        assert generated.returncode == 0, generated.stdout + generated.stderr
        sys.path.insert(0, folder)
        client = importlib.import_module("generated_client").Client(base_url=url)
        models = importlib.import_module("generated_client.models")
        infer = importlib.import_module("generated_client.api.inference.infer")
        request = models.ModelInferRequest.from_dict(example(spec))
        response = infer.sync_detailed(client=client, body=request)
        assert response.status_code == 200, response
        assert isinstance(response.parsed, models.ModelInferResponse), response.parsed
        output = response.parsed.outputs[0]
        return "%s of the type %s: %s" % (output.name, type(output).__name__, output.data)


def main(url, client_model, *unlike):
    reasons = dict(each.split("=", 1) for each in unlike)
    general = document(url + "/openapi.json")
    print("openapi.json: %d paths" % len(general["paths"]))
    status, index = ask(url + "/v2/repository/index", {})
    assert status == 200, index
    schema(general, "RepositoryIndexResponse").validate(index)
    for name in sorted({model["name"] for model in index}):
        status, metadata = ask(url + "/v2/models/" + urllib.parse.quote(name, safe=""))
        if status == 404:
            assert ask(url + "/v2/models/" + name + "/openapi.json") == (status, metadata), name
            continue
        assert status == 200, (name, metadata)
        schema(general, "ModelMetadata").validate(metadata)
        for version in ["", *metadata.get("versions", [])]:
            print("%s %s: %s" % (name, version, check_model(url, name, version, reasons)))
    print("generated client: " + generated_client(url, client_model))
    print("all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
