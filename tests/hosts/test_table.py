"""The page about clients and the list of them."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import install
import table
from features import FEATURES


def titles_and_versions(clients):
    return [(client["title"], install.version(client)) for client in clients]


class Table(unittest.TestCase):
    def test_the_page_tells_of_the_clients_that_are_tried(self):
        if not table.DOCUMENT.exists():
            raise unittest.SkipTest("there is no docs/hosts.md yet; `just hosts` writes it")
        clients = [client for kind in table.KINDS for client in install.CLIENTS.values() if client["kind"] == kind]
        self.assertEqual(table.clients_of(table.DOCUMENT.read_text()), titles_and_versions(clients))

    def test_versions_are_exact(self):
        for client in install.CLIENTS.values():
            for package in client["packages"]:
                self.assertRegex(package, r"(==|.@)[0-9]+(\.[0-9]+)+$")

    def test_a_page_is_read_as_it_was_written(self):
        page = table.document({(name, feature): table.YES for name in install.CLIENTS for feature in FEATURES})
        self.assertEqual(sorted(table.clients_of(page)), sorted(titles_and_versions(install.CLIENTS.values())))


if __name__ == "__main__":
    unittest.main()
