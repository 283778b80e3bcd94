"""The files of a release: their names, digests and signatures, the provenance, and what is read from archives."""

import base64
import hashlib
import io
import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import zipfile

from . import elf

# Processors, and the number of each in programs (ELF, e_machine).
ARCHITECTURES = {"amd64": 62, "arm64": 183}
JVM = "opt/java/lib/server/libjvm.so"
CACHE = "opt/isthmus/isthmus.aot"
# Libraries of the module java.desktop that need a display, fonts or sound. Isthmus never loads them, and the image lacks what they need.
WITH_DISPLAY = {"libawt_xawt.so", "libjawt.so", "libsplashscreen.so", "libjsound.so", "libfontmanager.so"}
CHECKSUMS = "SHA256SUMS"
SIGNATURE = f"{CHECKSUMS}.sig"
# Says which images a release lacks; only a release that was asked to be incomplete has it.
INCOMPLETE = "INCOMPLETE"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:dev.isthmus:release:1"


class Names:
    """The names of a release's files."""

    def __init__(self, version):
        self.distribution = f"isthmus-{version}.tar.gz"
        self.sources = f"isthmus-sources-{version}.tar.gz"
        self.chart = f"isthmus-chart-{version}.tgz"
        self.wheel = f"oip_conformance-{version}-py3-none-any.whl"
        self.sbom = f"isthmus-{version}.cdx.json"
        self.changes = f"isthmus-{version}.changes.md"
        self.provenance = f"isthmus-{version}.intoto.jsonl"
        self.images = {each: f"isthmus-image-{version}-{each}.tar" for each in ARCHITECTURES}
        self.always = [self.distribution, self.sources, self.chart, self.wheel, self.sbom, self.changes]


def sha256(file):
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def openssl(*arguments, **options):
    """Its output. CalledProcessError if it refuses."""
    return subprocess.run(["openssl", *map(str, arguments)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options).stdout


def sign(key, content):
    """The signature, ECDSA or RSA with SHA-256, in base64, as `cosign verify-blob` takes it."""
    return base64.b64encode(openssl("dgst", "-sha256", "-sign", key, input=content)).decode()


def verifies(key, content, signature):
    """Whether the key has signed the content. Text that is not base64 is no signature."""
    try:
        decoded = base64.b64decode(signature.strip(), validate=True)
    except ValueError:
        return False
    with tempfile.NamedTemporaryFile() as file:
        file.write(decoded)
        file.flush()
        return subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", file.name],
                              input=content, capture_output=True, check=False).returncode == 0


def key_id(public):
    """What names a key: the digest of its public part, given as PEM."""
    return hashlib.sha256(openssl("pkey", "-pubin", "-outform", "DER", input=public)).hexdigest()


def authenticated(content):
    """What a signature in a DSSE envelope is made of."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(content), content)


def envelope(statement, key):
    """The statement as a DSSE envelope."""
    content = json.dumps(statement, sort_keys=True).encode()
    return json.dumps({"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(content).decode(), "signatures": [
        {"keyid": key_id(openssl("pkey", "-in", key, "-pubout")), "sig": sign(key, authenticated(content))}]}) + "\n"


def opened(text, key):
    """The statement in an envelope. ValueError if the key has not signed it."""
    read = json.loads(text)
    content = base64.b64decode(read["payload"])
    if read["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"the payload is {read['payloadType']}, expected {PAYLOAD_TYPE}")
    if not any(verifies(key, authenticated(content), each["sig"]) for each in read["signatures"]):
        raise ValueError(f"{key} has not signed it")
    return json.loads(content)


def own_manifest(distribution):
    """The manifest of Isthmus's own jar: version, commit, time, JDK."""
    jar, = files_of(distribution, r"/lib/isthmus-app-[^/]*\.jar$").values()
    text = zipfile.ZipFile(io.BytesIO(jar)).read("META-INF/MANIFEST.MF").decode()
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def files_of(archive, pattern):
    """Name and bytes of an archive's files whose path matches. archive: a path, or the bytes."""
    source = {"fileobj": io.BytesIO(archive)} if isinstance(archive, bytes) else {"name": archive}
    with tarfile.open(**source) as packed:
        return {pathlib.PurePath(each.name).name: packed.extractfile(each).read()
                for each in packed if each.isfile() and re.search(pattern, each.name)}


class Image:
    """An image in an archive with an OCI layout. ValueError if a blob has another digest than its name says."""

    def __init__(self, file):
        self.archive = tarfile.open(file)
        described = json.loads(self.read("index.json"))["manifests"][0]
        self.platform = described["platform"]["architecture"]
        self.manifest = json.loads(self.blob(described["digest"]))
        self.config = json.loads(self.blob(self.manifest["config"]["digest"]))
        self.architecture = self.config["architecture"]
        self.labels = {key.rpartition(".")[2]: value for key, value in self.config["config"]["Labels"].items()}

    def processor(self):
        """The processor that the image is for. ValueError if index, JVM, or any program or library in it is for another one, or if a
        library that one of them needs is missing."""
        expected = ARCHITECTURES.get(self.architecture)
        if self.platform != self.architecture:
            raise ValueError(f"the index says {self.platform}, and the image's configuration {self.architecture}")
        programs, names = self.programs()
        if JVM not in programs:
            raise ValueError(f"the image has no {JVM}")
        for path, program in programs.items():
            if program.machine != expected:
                raise ValueError(f"the image is for {self.architecture}, and its {path} for the processor {program.machine}, expected {expected}")
        there = names | {program.soname for program in programs.values()}
        for path, program in programs.items():
            missing = sorted(set(program.needed) - there)
            if missing and pathlib.PurePath(path).name not in WITH_DISPLAY:
                raise ValueError(f"{path} needs {', '.join(missing)}, which the image does not have")
        return self.architecture

    def programs(self):
        """The programs and libraries of all layers by path, and the names of all files and links."""
        found, names = {}, set()
        for layer in self.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.blob(layer["digest"]))) as packed:
                for each in packed:
                    names.add(pathlib.PurePath(each.name).name)
                    content = packed.extractfile(each).read() if each.isfile() else b""
                    if elf.is_program(content):
                        found[each.name] = elf.Program(content)
        return found, names

    def read(self, name):
        return self.archive.extractfile(name).read()

    def blob(self, digest):
        content = self.read("blobs/" + digest.replace(":", "/"))
        if "sha256:" + hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"the blob {digest} has other content")
        return content

    def files(self, pattern):
        """Name and bytes of the files whose path matches, of all layers."""
        found = {}
        for layer in self.manifest["layers"]:
            found.update(files_of(self.blob(layer["digest"]), pattern))
        return found
