"""oip-conformance: runs the suite against a server, lists its cases, and writes the models that it needs."""
import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from . import __version__, against, expected, listing, page, report
from .basis import PROFILES, basis_of
from .cases import Endpoint
from .chapters import CASES, CHAPTERS
from .client import TIMEOUT, NotApplicable, pb
from .discovery import NoModels, discover
from .models import FLEETS, Models
from .running import FAILED, Conditions, answers, run_all, score
from .tls import Tls, TlsFileError, problem
from .usage import UsageError, address, positive
from .witness import start_witnesses

AS_EXPECTED, FAILURES, USAGE, UNREACHABLE = 0, 1, 2, 3
DISCOVER = "discover"
_EPILOG = """
other commands:
  oip-conformance list [--markdown]           each case, its profile, and the section that it rests on
  oip-conformance models triton|mlserver|kserve|aissemble|omle|dynamo FOLDER
                                              writes the suite's models for this server; without them many cases do not apply
  oip-conformance against URL                 what would change for the clients of a server behind Isthmus

exit status: 0 all cases came out as expected, 1 some did not, 2 usage, 3 the server cannot be reached
"""


def parser():
    made = argparse.ArgumentParser(
        prog="oip-conformance", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tests a server of the Open Inference Protocol (V2) over REST and gRPC.")
    made.add_argument("url", nargs="?", help="REST address of the server: HOST:PORT, http://HOST:PORT or https://HOST:PORT")
    made.add_argument("--grpc", metavar="ADDRESS", help="gRPC address of the server: HOST:PORT, or https://HOST:PORT for TLS; without "
                      "one, its cases do not apply")
    made.add_argument("--ca-file", metavar="FILE", help="over TLS: PEM file with the authorities that may have issued the server's "
                      "certificate; default: the system's")
    made.add_argument("--insecure", action="store_true", help="over TLS: accept any certificate")
    made.add_argument("--cert", metavar="FILE", help="over TLS: PEM file with a client certificate, and its key unless --key names it")
    made.add_argument("--key", metavar="FILE", help="over TLS: PEM file with the key of --cert, without a password")
    made.add_argument("--models", choices=[DISCOVER, *FLEETS], default=DISCOVER,
                      help="models of the server: one of the suite's fleets, or those that its metadata show (default)")
    made.add_argument("--model", metavar="NAME", action="append", default=[], help="a model to discover; default: all of the index")
    made.add_argument("--profile", nargs="+", choices=PROFILES, default=[], metavar="PROFILE",
                      help="only these profiles: " + ", ".join(PROFILES))
    made.add_argument("--chapter", nargs="+", choices=[chapter.name for chapter in CHAPTERS], default=[], metavar="CHAPTER",
                      help="only these chapters: " + ", ".join(chapter.name for chapter in CHAPTERS))
    made.add_argument("--only", nargs="+", default=[], metavar="ID", help="only cases whose id has one of these prefixes")
    made.add_argument("--expected", metavar="FILE", help="expected failures, and disputed cases, each with a reason")
    made.add_argument("--write-expected", metavar="FILE", help="write a file that expects the failures of this run")
    made.add_argument("--timeout", metavar="SECONDS", type=positive, default=TIMEOUT, help="for each call (default: %(default)g)")
    made.add_argument("--time-limit", metavar="SECONDS", type=positive, default=Conditions.time_limit,
                      help="for all cases; those that are left fail (default: %(default)g)")
    made.add_argument("--restart", metavar="SECONDS", type=positive, default=Conditions.restart,
                      help="in which a server that ended answers again; the cases that are left then fail (default: %(default)g)")
    made.add_argument("--min-score", metavar="N", type=float, help="exit with 1 below this many percent, not for each failure")
    made.add_argument("--dangerous", action="store_true", help="also cases that are known to crash a real server")
    made.add_argument("--witness-rest", metavar="PORT", type=int, help="serve a scripted REST server here, to which the gateway "
                      "under test routes the model witness_rest")
    made.add_argument("--witness-grpc", metavar="PORT", type=int, help="the same over gRPC for the model witness_grpc")
    for name, what in (("json", "JSON"), ("junit", "JUnit XML"), ("html", "HTML"), ("badge", "an SVG image of the score")):
        made.add_argument("--" + name, metavar="FILE", help=f"write the outcomes as {what}")
    made.add_argument("--quiet", action="store_true", help="print only the score")
    made.add_argument("--version", action="version", version=__version__)
    return made


@dataclass(frozen=True)
class Target:
    """The addresses under test, HOST:PORT or None, and TLS by "rest" and "grpc" where it is used."""
    rest: str | None
    grpc: str | None
    tls: dict

    @staticmethod
    def of(given):
        (rest, rest_tls), (grpc, grpc_tls) = address(given.url, "the server's address"), address(given.grpc, "--grpc")
        if not rest and not grpc:
            raise UsageError("the address of a server is expected: oip-conformance http://HOST:PORT --grpc HOST:PORT")
        if not (rest_tls or grpc_tls):
            for option, value in (("--ca-file", given.ca_file), ("--insecure", given.insecure), ("--cert", given.cert), ("--key", given.key)):
                if value:
                    raise UsageError(f"{option} is for addresses with TLS: https://HOST:PORT")
        if given.ca_file and given.insecure:
            raise UsageError("--ca-file and --insecure exclude each other")
        if given.key and not given.cert:
            raise UsageError("--key FILE is for --cert FILE")
        tls = Tls(given.ca_file, given.insecure, given.cert, given.key)
        return Target(rest, grpc, {name: tls for name, used in (("rest", rest_tls), ("grpc", grpc_tls)) if used})

    def problem(self, timeout):
        """Why an address with TLS cannot be used, or None."""
        return problem(self.rest, self.grpc, self.tls, timeout)

    def endpoint(self, models, witness=None, timeout=TIMEOUT):
        return Endpoint(self.rest, self.grpc, models, witness, timeout, self.tls)

    def shown(self, name):
        """An address for reports."""
        at = self.rest if name == "rest" else self.grpc
        return f"https://{at}" if name in self.tls else at


def chosen(given):
    """The cases that the arguments select."""
    for prefix in given.only:
        if not any(case.id.startswith(prefix) for case in CASES):
            raise UsageError(f"--only: no case begins with '{prefix}', see 'oip-conformance list'")
    found = [case for case in CASES
             if (not given.profile or basis_of(case.id).profile in given.profile)
             and (not given.chapter or case.chapter in given.chapter)
             and (not given.only or case.id.startswith(tuple(given.only)))]
    if not found:
        raise UsageError("no case was selected: --profile, --chapter and --only exclude each other")
    return found


def await_ready(endpoint, timeout=15.0):
    """Waits until the gateway has noticed that the witnesses, just started, are ready."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            if endpoint.rest.get("/v2/health/ready").status == 200:
                return
        except AssertionError:
            pass
        time.sleep(0.2)


def server_of(endpoint):
    """Name and version that the server gives itself; a server may give anything."""
    try:
        if endpoint.rest_address:
            body = endpoint.rest.get("/v2").ok().json()
            return f"{body['name']} {body['version']}"[:200]
        message = endpoint.grpc.call("ServerMetadata", pb.ServerMetadataRequest())
        return f"{message.name} {message.version}"[:200]
    except (AssertionError, NotApplicable, KeyError, TypeError):
        return "unknown"


def run(given):
    """Runs the chosen cases, writes the reports, and returns the exit status."""
    target = Target.of(given)
    if given.model and given.models != DISCOVER:
        raise UsageError(f"--model NAME is for --models {DISCOVER}")
    cases = chosen(given)
    conditions = Conditions(given.dangerous, given.time_limit, given.restart, expected.read(given.expected, [case.id for case in CASES])
                            if given.expected else expected.Expectations(()))
    unreachable = unreachability(target, given.timeout)
    if unreachable:
        print(f"oip-conformance: {unreachable}", file=sys.stderr)
        return UNREACHABLE
    models = FLEETS.get(given.models) or discover(target.endpoint(Models("discovered", {}), timeout=given.timeout), given.model)
    with start_witnesses(given.witness_rest, given.witness_grpc) as witness:
        endpoint = target.endpoint(models, witness, given.timeout)
        if witness:
            await_ready(endpoint)
        about = report.About(target.shown("rest"), target.shown("grpc"), server_of(endpoint), given.models, __version__,
                             tuple(given.profile or PROFILES))
        outcomes = run_all(cases, endpoint, conditions)
    write_reports(given, outcomes, about)
    print(report.last(outcomes) if given.quiet else report.text(outcomes))
    if given.min_score is not None:
        return FAILURES if score(outcomes) < given.min_score else AS_EXPECTED
    return FAILURES if any(outcome.surprise for outcome in outcomes) else AS_EXPECTED


def unreachability(target, timeout):
    """Why the endpoint cannot be tested, or None."""
    try:
        found = target.problem(timeout)
        if not found and not answers(target.endpoint(FLEETS["onnx"], timeout=timeout), seconds=1.0):
            found = f"nothing answers at {target.shown('rest') or target.shown('grpc')}"
        return found
    except OSError as error:
        return f"no connection with TLS: {error}"


def write_reports(given, outcomes, about):
    made = {given.json: lambda: report.to_json(outcomes, about), given.junit: lambda: report.junit(outcomes, about),
            given.html: lambda: page.html(outcomes, about), given.badge: lambda: report.badge(outcomes),
            given.write_expected: lambda: expected.lines(outcomes, FAILED)}
    for path, content in made.items():
        if path:
            try:
                Path(path).write_text(content(), encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise UsageError(f"{path} cannot be written: {error}") from None


def list_cases(arguments):
    made = argparse.ArgumentParser(prog="oip-conformance list", description="Prints the cases.")
    made.add_argument("--markdown", action="store_true", help="as the document CASES.md")
    given = made.parse_args(arguments)
    sys.stdout.write(listing.markdown() if given.markdown else "".join(listing.line(case) + "\n" for case in CASES))
    return AS_EXPECTED


def write_models(arguments):
    made = argparse.ArgumentParser(prog="oip-conformance models", description="Writes the suite's models for a server.")
    made.add_argument("server", choices=sorted(fleets()), help="triton, mlserver and omle: a model "
                      "repository; kserve, aissemble, dynamo: a program that serves the models. mlserver needs scikit-learn in this Python, omle "
                      "the package omle")
    made.add_argument("folder", help="the folder to write to")
    given = made.parse_args(arguments)
    program = fleets()[given.server]
    if given.server in ("kserve", "aissemble", "dynamo"):
        os.makedirs(given.folder, exist_ok=True)
        shutil.copy(program, given.folder)
        return AS_EXPECTED
    return FAILURES if subprocess.run([sys.executable, program, given.folder], check=False).returncode else AS_EXPECTED


def fleets():
    """The programs that write, or are, the models for a server, by its name."""
    return {path.stem.removesuffix("_models"): path for path in (Path(__file__).parent / "fleets").glob("*_models.py")}


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    commands = {"list": list_cases, "models": write_models, "against": against.main}
    try:
        if arguments[:1] and arguments[0] in commands:
            return commands[arguments[0]](arguments[1:])
        return run(parser().parse_args(arguments))
    except (UsageError, NoModels, TlsFileError, expected.ExpectedFileError, against.Unreachable) as error:
        print(f"oip-conformance: {error}", file=sys.stderr)
        return UNREACHABLE if isinstance(error, against.Unreachable) else USAGE
