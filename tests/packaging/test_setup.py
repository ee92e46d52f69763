"""Runs `scripts/setup` where next to nothing is installed, with an apt-get that only notes what it is asked for."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = pathlib.Path(folder.name)
        for name in ("dirname", "env"):
            os.symlink(shutil.which(name), self.programs / name)
        self.stand_in("cargo", "exit 0")
        self.stand_in("id", "echo 0")
        self.asked = self.programs / "asked"
        self.stand_in("apt-get", f'echo "$@" >>"{self.asked}"')

    def stand_in(self, name, script):
        bash = shutil.which("bash")
        (self.programs / name).write_text(f"#!{bash}\n{script}\n")
        (self.programs / name).chmod(0o755)

    def packages(self, mode):
        command = [shutil.which("bash"), str(ROOT / "scripts/setup"), mode]
        done = subprocess.run(command, env={"PATH": str(self.programs)}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not self.asked.exists():
            return []
        install = self.asked.read_text().splitlines()[-1].split()
        return [word for word in install if word[0] != "-" and word != "install"]

    def test_a_bare_machine_gets_what_a_release_needs(self):
        self.assertEqual(self.packages("build"), ["build-essential"])
        self.assertEqual(self.packages("release"), ["build-essential", "python3", "python3-venv", "binutils", "xz-utils"])

    def test_debian_has_a_python_without_venv(self):
        for name in ("cc", "make", "perl", "objdump", "xz"):
            self.stand_in(name, "exit 0")
        self.stand_in("python3", "exit 1")
        self.assertEqual(self.packages("release"), ["python3-venv"])

    def test_a_perl_without_the_modules_that_openssl_is_built_with_is_none(self):
        for name in ("cc", "make"):
            self.stand_in(name, "exit 0")
        self.stand_in("perl", "exit 2")
        self.assertEqual(self.packages("build"), ["build-essential"])

    def test_nothing_is_asked_for_twice(self):
        for name in ("cc", "make", "perl", "objdump", "python3", "xz"):
            self.stand_in(name, "exit 0")
        self.assertEqual(self.packages("release"), [])


if __name__ == "__main__":
    unittest.main()
