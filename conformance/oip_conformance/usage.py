"""Arguments that the commands share."""
import argparse
from urllib.parse import urlsplit


class UsageError(Exception):
    """Arguments that cannot be used together, or name what does not exist."""


def positive(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not more than 0 seconds")
    return value


def address(text, what):
    """HOST:PORT of an address with or without a scheme, and whether it is https; (None, False) without an address."""
    if text is None:
        return None, False
    parts = urlsplit(text if "://" in text else "http://" + text)
    try:
        port = parts.port
    except ValueError:
        port = None
    schemed = parts.scheme in ("http", "https")
    if not schemed or not parts.hostname or port is None or parts.path not in ("", "/") or parts.query or parts.username:
        raise UsageError(f"{what} is '{text}', expected HOST:PORT, http://HOST:PORT or https://HOST:PORT")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}", parts.scheme == "https"
