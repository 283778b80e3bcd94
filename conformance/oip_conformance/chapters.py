"""All cases, by chapter."""
from importlib import import_module

CHAPTER_NAMES = ("health", "paths", "models", "errors", "datatypes", "shapes", "numbers", "bytes", "binary", "parameters", "json",
                 "grpc", "compression", "streaming", "generate", "headers", "upstream", "limits", "bridge")

CHAPTERS = [import_module(f".cases_{name}", __package__).CHAPTER for name in CHAPTER_NAMES]
CASES = [case for chapter in CHAPTERS for case in chapter.cases]

_IDS = [case.id for case in CASES]
assert len(_IDS) == len(set(_IDS)), f"ids used twice: {sorted({id for id in _IDS if _IDS.count(id) > 1})}"
