"""`loci review` about pairs of memories, which only a model tells."""

import json
import sys
import unittest

from support import data_folder, run


class Pairs(unittest.TestCase):
    def listed(self, data, kind):
        listed = run(data, "review", "list", "--kind", kind, "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        return json.loads(listed.stdout)["items"]

    def test_the_memory_that_is_kept_replaces_the_other(self):
        with data_folder() as data:
            old, new = (
                run(data, "add", f"The ferry office opens at {hour}.", "--again").stdout.decode().strip()
                for hour in ("nine", "eleven")
            )
            self.assertEqual(run(data, "reindex").returncode, 0)
            [pair] = self.listed(data, "contradiction")
            self.assertEqual((pair["memory"]["id"], pair["other"]["id"]), (new, old))
            refused = run(data, "review", "accept", pair["key"])
            self.assertEqual(refused.returncode, 2)
            self.assertIn(b"--keep", refused.stderr)
            accepted = run(data, "review", "accept", pair["key"], "--keep", new)
            self.assertEqual(accepted.returncode, 0, accepted.stderr)
            self.assertEqual(self.listed(data, "contradiction"), [])
            shown = json.loads(run(data, "show", old, "--json").stdout)
            self.assertEqual(shown["superseded_by"], new)


if __name__ == "__main__":
    sys.exit(unittest.main())
