"""Installs all clients or some, runs their tests, and says which feature works in which client.

    python tests/hosts/run.py [--all] [--write] [--client NAME …]
"""

import argparse
import concurrent.futures
import io
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import features
import install
import table


def cases(suite):
    """The tests of a suite, one by one."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def cell(test):
    """The client and the feature that a test is about; none, if it is about the table itself."""
    client = getattr(test, "client", None)
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return (client, method.feature) if client and hasattr(method, "feature") else None


class Result(unittest.TextTestResult):
    """Notes how the tests of each client and feature ended; the worst of them counts."""

    def startTestRun(self):
        super().startTestRun()
        self.outcomes = {}

    def note(self, test, outcome):
        if place := cell(test):
            known = self.outcomes.get(place, outcome)
            self.outcomes[place] = max(known, outcome, key=[table.YES, table.SKIPPED, table.FAILED].index)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, table.YES)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, table.FAILED)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, table.FAILED)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, table.SKIPPED)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, table.FAILED)


def run(tests):
    """Runs the tests, those of three clients at a time, since they mostly wait; gives the result of each client."""
    groups = {}
    for test in tests:
        groups.setdefault(getattr(test, "client", None), []).append(test)

    def attempt(group):
        said = io.StringIO()
        runner = unittest.TextTestRunner(said, verbosity=2, resultclass=Result)
        result = runner.run(unittest.TestSuite(group))
        print(said.getvalue(), file=sys.stderr, flush=True)
        return result

    # The longest first, so that none of them is left alone at the end.
    order = sorted(groups.values(), key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(attempt, order))


def main():
    parser = argparse.ArgumentParser(description="Runs clients that people have against the built binary.")
    parser.add_argument("--all", action="store_true", help="all clients, not the quick half alone")
    parser.add_argument("--write", action="store_true", help="write docs/hosts.md; goes with --all")
    parser.add_argument("--client", action="append", metavar="NAME", help="a client of clients.json, whatever its half")
    arguments = parser.parse_args()
    if unknown := set(arguments.client or []) - set(install.CLIENTS):
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    if arguments.write and (arguments.client or not arguments.all):
        parser.error("--write needs the results of all clients: --all, without --client")

    clients = arguments.client or install.chosen(arguments.all)
    # Before the tests are loaded, which read it.
    features.CHOICE, features.CLIENTS = "all" if arguments.all else "quick", clients
    install.install_all(clients)
    found = cases(unittest.defaultTestLoader.discover(str(HERE)))
    tests = [test for test in found if getattr(test, "client", None) in [None, *clients]]
    if arguments.write:
        # The page of today says nothing about the one to come.
        tests = [test for test in tests if not test.id().startswith("test_table.")]
    results = run(tests)
    outcomes = {place: outcome for result in results for place, outcome in result.outcomes.items()}
    held = all(result.wasSuccessful() for result in results)
    print(table.of(outcomes), flush=True)
    for name in clients:
        if reason := features.installation(name)[1]:
            print(f"SKIPPED: {install.CLIENTS[name]['title']}: {reason}", flush=True)
    if arguments.write:
        if not held or any(result.skipped for result in results):
            print("docs/hosts.md stays as it was: it tells of runs in which everything held", file=sys.stderr)
            return 1
        table.DOCUMENT.write_text(table.document(outcomes))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
