#!/usr/bin/env python3
"""Generate a Triton model repository (python backend and one ensemble) for protocol tests.

Usage: triton_models.py TARGET_DIR [MODEL ...]      default: all of them; each runs in a process of its own

Models (names, shapes and semantics of the simple* family follow what the
public Triton client examples expect):

  simple            INPUT0/INPUT1 INT32 [-1,16] -> OUTPUT0 sum, OUTPUT1 difference
  simple_int8       same with INT8
  simple_string     same, elements are decimal strings (BYTES)
  simple_identity   BYTES [-1,-1] -> BYTES
  simple_sequence   INPUT INT32 [-1,1] -> INPUT, plus 1 at the start of a sequence (what the
                    public client examples expect); the running sum is kept as implicit state
  simple_dyna_sequence  same, adds the int correlation id to the last output
  repeat_int32      decoupled: IN [n], DELAY [n], WAIT [1] -> n responses OUT[1], IDX[1]; three
                    requests at once
  identity_<dtype>  INPUT0 [-1,-1] -> OUTPUT0, one per V2 datatype
  special_fp32      [n] -> NaN, +Inf, -Inf, -0.0, min denormal, max
  params_echo       any [-1] INT32 -> BYTES [1] with the request parameters as JSON
                    (this server's python backend has no response parameters)
  fail              raises a model exception with the text given in INPUT0
  slow              sleeps INPUT0[0] milliseconds, echoes
  versioned         versions 1 and 3 served; output = input + version
  ensemble          simple twice, one after the other; its responses name the
                    parameters of its sequence once for each output
"""
import os, sys, textwrap

DTYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32",
          "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16"]
CHOSEN = sys.argv[2:]


def chosen(name):
    return not CHOSEN or name in CHOSEN


def cfg_type(d):
    return "TYPE_STRING" if d == "BYTES" else "TYPE_" + d


def tensor(kind, specs):
    body = ",\n".join(
        '  {{ name: "{}", data_type: {}, dims: [ {} ] }}'.format(n, cfg_type(d), ", ".join(map(str, s)))
        for n, d, s in specs)
    return "{} [\n{}\n]\n".format(kind, body)


def write(root, name, inputs, outputs, code, max_batch=0, extra="", versions=(1,), group="", count=1):
    if not chosen(name):
        return
    d = os.path.join(root, name)
    for v in versions:
        os.makedirs(os.path.join(d, str(v)), exist_ok=True)
        with open(os.path.join(d, str(v), "model.py"), "w") as f:
            f.write(HEADER + textwrap.dedent(code))
    with open(os.path.join(d, "config.pbtxt"), "w") as f:
        f.write('name: "{}"\nbackend: "python"\nmax_batch_size: {}\n'.format(name, max_batch))
        f.write(tensor("input", inputs) + tensor("output", outputs))
        f.write("instance_group [{ kind: KIND_CPU count: %d %s }]\n" % (count, group) + extra)


HEADER = '''\
import json, time
import numpy as np
import triton_python_backend_utils as pb


def inp(request, name):
    return pb.get_input_tensor_by_name(request, name)


def out(*tensors, **kw):
    return pb.InferenceResponse(output_tensors=list(tensors), **kw)


'''

ADDSUB = '''\
class TritonPythonModel:
    def execute(self, requests):
        rs = []
        for r in requests:
            a, b = inp(r, "INPUT0").as_numpy(), inp(r, "INPUT1").as_numpy()
            want = r.requested_output_names()
            ts = []
            if "OUTPUT0" in want:
                ts.append(pb.Tensor("OUTPUT0", (a + b).astype(a.dtype)))
            if "OUTPUT1" in want:
                ts.append(pb.Tensor("OUTPUT1", (a - b).astype(a.dtype)))
            rs.append(out(*ts))
        return rs
'''

ADDSUB_STRING = '''\
class TritonPythonModel:
    def execute(self, requests):
        rs = []
        for r in requests:
            a, b = inp(r, "INPUT0").as_numpy(), inp(r, "INPUT1").as_numpy()
            try:
                ai = np.array([int(x) for x in a.flatten()]).reshape(a.shape)
                bi = np.array([int(x) for x in b.flatten()]).reshape(b.shape)
            except ValueError as e:
                rs.append(out(error=pb.TritonError("unable to convert string to int: " + str(e))))
                continue
            s = np.array([str(x).encode() for x in (ai + bi).flatten()], dtype=object).reshape(a.shape)
            d = np.array([str(x).encode() for x in (ai - bi).flatten()], dtype=object).reshape(a.shape)
            rs.append(out(pb.Tensor("OUTPUT0", s), pb.Tensor("OUTPUT1", d)))
        return rs
'''

IDENTITY = '''\
class TritonPythonModel:
    def execute(self, requests):
        return [out(pb.Tensor("OUTPUT0", inp(r, "INPUT0").as_numpy())) for r in requests]
'''

IDENTITY_DLPACK = '''\
class TritonPythonModel:
    def execute(self, requests):
        return [out(pb.Tensor.from_dlpack("OUTPUT0", inp(r, "INPUT0").to_dlpack())) for r in requests]
'''

SEQUENCE = '''\
class TritonPythonModel:
    # Implicit state: Triton keeps STATE per sequence, so that correlation ids of
    # any type work. (A CORRID control of type UINT64 that meets a string id
    # corrupts the heap of this server build.)
    def execute(self, requests):
        rs = []
        for r in requests:
            x = inp(r, "INPUT").as_numpy()
            start = inp(r, "START").as_numpy().reshape(x.shape)
            state = np.where(start != 0, 0, inp(r, "STATE_IN").as_numpy().reshape(x.shape))
            v = (state + x).astype(np.int32)
            y = (x + start).astype(np.int32)
            if DYNA:
                end = inp(r, "END").as_numpy().reshape(x.shape)
                corrid = inp(r, "CORRID").as_numpy().reshape(x.shape)
                y = np.where(end != 0, y + corrid, y).astype(np.int32)
            rs.append(out(pb.Tensor("OUTPUT", y), pb.Tensor("STATE_OUT", v)))
        return rs
'''

REPEAT = '''\
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            xs = inp(r, "IN").as_numpy().flatten()
            delay = inp(r, "DELAY").as_numpy().flatten()
            wait = int(inp(r, "WAIT").as_numpy().flatten()[0])
            sender = r.get_response_sender()
            for i, x in enumerate(xs):
                if i < len(delay) and delay[i]:
                    time.sleep(int(delay[i]) / 1000.0)
                sender.send(out(pb.Tensor("OUT", np.array([x], dtype=np.int32)),
                                pb.Tensor("IDX", np.array([i], dtype=np.uint32))))
            if wait:
                time.sleep(wait / 1000.0)
            sender.send(flags=pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
'''

SPECIAL = '''\
class TritonPythonModel:
    def execute(self, requests):
        v = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 0.1], dtype=np.float32)
        return [out(pb.Tensor("OUTPUT0", v)) for _ in requests]
'''

PARAMS = '''\
class TritonPythonModel:
    def execute(self, requests):
        rs = []
        for r in requests:
            p = r.parameters()
            text = p if isinstance(p, str) else json.dumps(p)
            rs.append(out(pb.Tensor("OUTPUT0", np.array([text.encode()], dtype=object))))
        return rs
'''

FAIL = '''\
class TritonPythonModel:
    def execute(self, requests):
        rs = []
        for r in requests:
            text = inp(r, "INPUT0").as_numpy().flatten()[0].decode()
            if text == "raise":
                raise RuntimeError("raised by the model")
            code = {"UNAVAILABLE": pb.TritonError.UNAVAILABLE, "NOT_FOUND": pb.TritonError.NOT_FOUND,
                    "INVALID_ARG": pb.TritonError.INVALID_ARG, "INTERNAL": pb.TritonError.INTERNAL,
                    "UNSUPPORTED": pb.TritonError.UNSUPPORTED, "ALREADY_EXISTS": pb.TritonError.ALREADY_EXISTS,
                    "CANCELLED": getattr(pb.TritonError, "CANCELLED", pb.TritonError.UNKNOWN),
                    }.get(text, pb.TritonError.UNKNOWN)
            rs.append(out(error=pb.TritonError("model says: " + text, code)))
        return rs
'''

SLOW = '''\
class TritonPythonModel:
    def execute(self, requests):
        rs = []
        for r in requests:
            x = inp(r, "INPUT0").as_numpy()
            time.sleep(int(x.flatten()[0]) / 1000.0)
            rs.append(out(pb.Tensor("OUTPUT0", x)))
        return rs
'''

VERSIONED = '''\
class TritonPythonModel:
    def initialize(self, args):
        self.version = int(args["model_version"])

    def execute(self, requests):
        return [out(pb.Tensor("OUTPUT0", (inp(r, "INPUT0").as_numpy() + self.version).astype(np.int32)))
                for r in requests]
'''


ENSEMBLE = """\
name: "ensemble"
platform: "ensemble"
max_batch_size: 8
%s%sensemble_scheduling {
  step [
    {
      model_name: "simple" model_version: -1
      input_map { key: "INPUT0" value: "INPUT0" } input_map { key: "INPUT1" value: "INPUT1" }
      output_map { key: "OUTPUT0" value: "SUM" } output_map { key: "OUTPUT1" value: "DIFFERENCE" }
    },
    {
      model_name: "simple" model_version: -1
      input_map { key: "INPUT0" value: "SUM" } input_map { key: "INPUT1" value: "DIFFERENCE" }
      output_map { key: "OUTPUT0" value: "OUTPUT0" } output_map { key: "OUTPUT1" value: "OUTPUT1" }
    }
  ]
}
"""


def write_ensemble(root, inputs, outputs):
    if not chosen("ensemble"):
        return
    d = os.path.join(root, "ensemble")
    os.makedirs(os.path.join(d, "1"), exist_ok=True)
    with open(os.path.join(d, "config.pbtxt"), "w") as f:
        f.write(ENSEMBLE % (tensor("input", inputs), tensor("output", outputs)))


def sequence_extra(corrid):
    controls = ['{ name: "START" control [{ kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }] }',
                '{ name: "END" control [{ kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] }] }']
    if corrid:
        controls.append('{ name: "CORRID" control [{ kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 }] }')
    return textwrap.dedent("""\
    sequence_batching {
      max_sequence_idle_microseconds: 5000000
      %s
      control_input [ %s ]
      state [{
        input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ]
        initial_state: { name: "zero" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }
      }]
    }
    """) % ("oldest { max_candidate_sequences: 8 }" if corrid else "direct { }", ", ".join(controls))


def main(root):
    os.makedirs(root, exist_ok=True)
    io16 = lambda d: ([("INPUT0", d, [16]), ("INPUT1", d, [16])], [("OUTPUT0", d, [16]), ("OUTPUT1", d, [16])])
    write(root, "simple", *io16("INT32"), ADDSUB, max_batch=8)
    write(root, "simple_int8", *io16("INT8"), ADDSUB, max_batch=8)
    write(root, "simple_string", *io16("BYTES"), ADDSUB_STRING, max_batch=8)
    write(root, "simple_identity", [("INPUT0", "BYTES", [-1])], [("OUTPUT0", "BYTES", [-1])], IDENTITY, max_batch=8)
    for d in DTYPES:
        write(root, "identity_" + d.lower(), [("INPUT0", d, [-1, -1])], [("OUTPUT0", d, [-1, -1])],
              IDENTITY_DLPACK if d == "BF16" else IDENTITY)
    io1 = ([("INPUT", "INT32", [1])], [("OUTPUT", "INT32", [1])])
    write(root, "simple_sequence", *io1, "DYNA = False\n" + SEQUENCE, max_batch=8,
          extra=sequence_extra(False))
    write(root, "simple_dyna_sequence", *io1, "DYNA = True\n" + SEQUENCE, max_batch=8,
          extra=sequence_extra(True))
    write(root, "repeat_int32",
          [("IN", "INT32", [-1]), ("DELAY", "UINT32", [-1]), ("WAIT", "UINT32", [1])],
          [("OUT", "INT32", [1]), ("IDX", "UINT32", [1])], REPEAT, count=3,
          extra="model_transaction_policy { decoupled: True }\n")
    i32 = ([("INPUT0", "INT32", [-1])], [("OUTPUT0", "INT32", [-1])])
    write(root, "special_fp32", [("INPUT0", "INT32", [-1])], [("OUTPUT0", "FP32", [-1])], SPECIAL)
    write(root, "params_echo", [("INPUT0", "INT32", [-1])], [("OUTPUT0", "BYTES", [1])], PARAMS)
    write(root, "fail", [("INPUT0", "BYTES", [-1])], [("OUTPUT0", "BYTES", [-1])], FAIL)
    write(root, "slow", *i32, SLOW, group="secondary_devices [{ kind: KIND_NVDLA device_id: 1 }]")
    write(root, "versioned", *i32, VERSIONED, versions=(1, 2, 3),
          extra="version_policy: { specific { versions: [ 1, 3 ] } }\n")
    write_ensemble(root, *io16("INT32"))
    unknown = set(CHOSEN) - set(os.listdir(root))
    if unknown:
        sys.exit("triton_models.py: unknown models %s" % sorted(unknown))


if __name__ == "__main__":
    main(sys.argv[1])
