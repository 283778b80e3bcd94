"""Runs the tests of Triton's infer_test.py, and writes what each came to: python -m triton_qa.tests FILE PATTERN..."""
import fnmatch
import json
import sys
import unittest
from pathlib import Path

PASSED, FAILED, SKIPPED, NOTHING_SENT = "passed", "failed", "skipped", "nothing sent"


class Outcomes(unittest.TestResult):
    """State, reason and number of inferences of each test, by its name."""

    def __init__(self):
        super().__init__()
        self.found, self.sent = {}, 0

    def startTest(self, test):
        super().startTest(test)
        self.sent = 0

    def note(self, test, state, reason=""):
        self.found[test.id().rsplit(".", 1)[-1]] = {"state": state, "reason": reason, "inferences": self.sent}

    def addSuccess(self, test):
        self.note(test, PASSED if self.sent else NOTHING_SENT)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, FAILED, " ".join(f"{error[0].__name__}: {error[1]}".split())[:500])

    addError = addFailure

    def addSkip(self, test, reason):
        self.note(test, SKIPPED, reason)

    def counted(self, function):
        def counting(*arguments, **options):
            self.sent += 1
            return function(*arguments, **options)

        return counting


def chosen(suite, patterns):
    """The tests whose names match one of the patterns."""
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from chosen(each, patterns)
        elif any(fnmatch.fnmatch(each.id().rsplit(".", 1)[-1], pattern) for pattern in patterns):
            yield each


def run(patterns):
    """The outcomes of the tests; infer_test and infer_util are Triton's modules, on the path of this process."""
    import infer_test
    import infer_util
    outcomes = Outcomes()
    infer_util.infer_exact = outcomes.counted(infer_util.infer_exact)
    unittest.TestSuite(chosen(unittest.defaultTestLoader.loadTestsFromModule(infer_test), patterns)).run(outcomes)
    return outcomes.found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(run(sys.argv[2:])))
