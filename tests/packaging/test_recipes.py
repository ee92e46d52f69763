"""Holds the recipes of the packages together, in half a minute and without a build."""

import gzip
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Names as they may be once they are settled.
SETTLED = {
    "registry_name": "io.github.example/loci",
    "repository": "https://github.com/example/loci",
    "image": "images.example/loci-memory",
}

sys.path.insert(0, str(ROOT / "packaging"))
import files  # noqa: E402
import image  # noqa: E402
import listings  # noqa: E402


def recipes(name="build"):
    path = str(ROOT / "packaging" / name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Models(unittest.TestCase):
    """The packages of a model put its files where `loci model install` looks (commands/model/places.rs)."""

    NAME = "multilingual-e5-small"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.recipe = recipes("model")
        self.known = self.recipe.model(self.NAME)
        self.files = {"model.onnx": b"a graph", "tokenizer.json": b"{}", "LICENSE": b"as you like"}

    def make(self, kind):
        getattr(self.recipe, kind)(self.recipe.facts(), self.NAME, self.known, self.files, self.out)
        (path,) = self.out.iterdir()
        return path

    def test_what_the_catalogue_says_is_read(self):
        self.assertEqual(self.known["licence"], "MIT")
        self.assertEqual(set(self.known["sums"]), {"model.onnx", "tokenizer.json"})
        with self.assertRaisesRegex(SystemExit, "the catalogue has no model bge"):
            self.recipe.model("bge")

    def test_a_wheel_has_the_files_beside_the_program_of_its_environment(self):
        with zipfile.ZipFile(self.make("wheel")) as wheel:
            data = [name for name in wheel.namelist() if ".data/" in name]
            places = [name.partition(".data/data/")[2] for name in data]
            self.assertEqual(
                places, [f"share/loci/models/{self.NAME}/{file}" for file in ("model.onnx", "tokenizer.json")]
            )
            (record,) = [name for name in wheel.namelist() if name.endswith("/RECORD")]
            recorded = [line.split(",")[0] for line in wheel.read(record).decode().splitlines()]
            self.assertEqual(sorted(recorded), sorted(wheel.namelist()))

    def test_a_package_of_npm_lies_beside_that_of_the_program(self):
        path = self.make("npm")
        with tarfile.open(path) as packed:
            manifest = json.load(packed.extractfile("package/package.json"))
            self.assertEqual(packed.extractfile("package/model.onnx").read(), b"a graph")
        self.assertEqual(manifest["name"], f"loci-memory-model-{self.NAME}")

    @unittest.skipUnless(shutil.which("dpkg-deb"), "needs dpkg-deb")
    def test_the_debian_package_has_them_in_share(self):
        listed = subprocess.run(["dpkg-deb", "-c", self.make("debian")], check=True, capture_output=True, text=True)
        self.assertIn(f"./usr/share/loci/models/{self.NAME}/model.onnx", listed.stdout)

    def test_the_archive_has_the_name_that_is_asked_for(self):
        self.recipe.archive(self.NAME, self.files, self.out)
        with zipfile.ZipFile(self.out / f"loci-model-{self.NAME}.zip") as archive:
            self.assertIn(f"{self.NAME}/model.onnx", archive.namelist())

    def test_other_files_than_those_of_the_catalogue_are_refused(self):
        for file, content in self.files.items():
            (self.out / file).write_bytes(content)
        with self.assertRaisesRegex(SystemExit, "has the SHA-256"):
            self.recipe.content_of(self.NAME, self.known, self.out)
        (self.out / "model.onnx").unlink()
        with self.assertRaisesRegex(SystemExit, "holds no model.onnx"):
            self.recipe.content_of(self.NAME, self.known, self.out)

    def test_the_licence_of_the_weights_names_their_owner(self):
        for name in self.recipe.installable():
            known = self.recipe.model(name)
            text = self.recipe.licence_of(name, known).decode()
            self.assertIn(f"Licence of the weights: {known['licence']}\n", text)
            self.assertIn("https://huggingface.co/", text)
            self.assertIn("Changes: ", text)
            self.assertNotIn("The loci developers", text)
        self.assertIn("Copyright (c) Microsoft Corporation", self.recipe.licence_of(self.NAME, self.known).decode())
        with self.assertRaisesRegex(SystemExit, "does not say whose the weights of bge are"):
            self.recipe.licence_of("bge", self.known)

    def made(self, *arguments):
        """Runs the command, and returns the files that it made."""
        out = self.out / "packages"
        subprocess.run([sys.executable, ROOT / "packaging/model", *arguments, out], check=True, cwd=ROOT)
        return sorted(out.iterdir())

    def check(self, packages, name):
        """Each of the packages of a model has its files and the licence of its weights."""
        known = self.recipe.model(name)
        licence = self.recipe.licence_of(name, known)
        held = {}
        for path in packages:
            with tempfile.TemporaryDirectory() as folder:
                if path.suffix == ".deb":
                    subprocess.run(["dpkg-deb", "-x", path, folder], check=True)
                else:
                    shutil.unpack_archive(path, folder, "gztar" if path.suffix == ".tgz" else "zip")
                inside = [file for file in pathlib.Path(folder).rglob("*") if file.is_file()]
                sums = {file.name: files.digest(file.read_bytes()) for file in inside}
                for file, expected in known["sums"].items():
                    self.assertEqual(sums[file], expected, path)
                licences = [file for file in inside if file.name in ("LICENSE", "copyright")]
                self.assertEqual([file.read_bytes() for file in licences], [licence], path)
            held[path.suffix] = path
        kinds = {".whl", ".tgz", ".zip"} | ({".deb"} if shutil.which("dpkg-deb") else set())
        self.assertEqual(set(held), kinds)

    def test_the_command_makes_all_packages_without_a_network(self):
        # The files of this model are in the tree, so that it stands for those that are fetched.
        name = "all-minilm-l6-v2"
        folder = self.out / "files"
        folder.mkdir()
        (folder / "model.onnx").symlink_to(ROOT / "crates/loci-embed/model/model_int8.onnx")
        (folder / "tokenizer.json").symlink_to(ROOT / "crates/loci-embed/model/tokenizer.json")
        self.check(self.made(name, folder), name)

    def test_all_are_asked_for(self):
        command = [sys.executable, ROOT / "packaging/model", "--all", self.out, self.out / "packages"]
        refused = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"{self.NAME} holds no model.onnx", refused.stderr)

    def test_the_command_of_the_workflow_makes_those_of_each_model(self):
        # Packing 200 MB takes minutes, so that only the check of a release names the folder.
        models = ROOT / os.environ.get("LOCI_TEST_MODELS", "")
        names = self.recipe.installable()
        missing = [name for name in names if not (models / name / "model.onnx").is_file()]
        if missing:
            reason = f"SKIPPED: LOCI_TEST_MODELS names no folder with {', '.join(missing)}, so their packages are not made"
            print(f"test_recipes: {reason}; `just models` makes the files in target/models", file=sys.stderr)
            self.skipTest(reason)
        workflow = (ROOT / ".github/workflows/release.yml").read_text()
        self.assertIn("packaging/model --all target/models target/packages", workflow)
        packages = self.made("--all", models)
        for name in names:
            forms = (name, name.replace("-", "_"))
            self.check([path for path in packages if any(form in path.name for form in forms)], name)


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.build = recipes()
        self.fact = self.build.facts()

    def test_packages_of_every_platform_say_the_same(self):
        kept = {key: self.fact[key] for key in ("version", "description", "license")}
        for platform in self.fact["platform"]:
            for make in (self.build.wheel, self.build.npm, self.build.mcpb):
                make(self.fact, platform, b"a program", self.out)
        for path in self.out.glob("*.tgz"):
            with tarfile.open(path) as package:
                manifest = json.load(package.extractfile("package/package.json"))
            self.assertEqual({key: manifest[key] for key in kept}, kept, path.name)
        for path in self.out.glob("*.mcpb"):
            with zipfile.ZipFile(path) as package:
                manifest = json.loads(package.read("manifest.json"))
            self.assertEqual({key: manifest[key] for key in kept}, kept, path.name)
        for path in self.out.glob("*.whl"):
            with zipfile.ZipFile(path) as package:
                (name,) = [name for name in package.namelist() if name.endswith("/METADATA")]
                metadata = package.read(name).decode()
            self.assertIn(f"\nVersion: {kept['version']}\nSummary: {kept['description']}\n", metadata)
            self.assertIn(f"\nLicense-Expression: {kept['license']}\n", metadata)
        self.assertEqual(len(list(self.out.iterdir())), 3 * len(self.fact["platform"]) + 1)

    def test_twice_is_the_same_bytes(self):
        (self.out / "a").mkdir()
        (self.out / "b").mkdir()
        for folder in ("a", "b"):
            for make in (self.build.wheel, self.build.npm, self.build.mcpb):
                make(self.fact, self.fact["platform"][0], b"a program", self.out / folder)
        for path in (self.out / "a").iterdir():
            self.assertEqual(path.read_bytes(), (self.out / "b" / path.name).read_bytes(), path.name)

    def test_the_entry_of_the_mcp_registry(self):
        fact, platforms = {**self.fact, **SETTLED}, self.fact["platform"]
        for platform in platforms:
            self.build.mcpb(fact, platform, b"a program", self.out)
        self.build.npm(fact, platforms[0], b"a program", self.out)
        self.build.wheel(fact, platforms[0], b"a program", self.out)
        listings.server(fact, self.out)
        server = json.loads((self.out / "server.json").read_text())
        kinds = [package["registryType"] for package in server["packages"]]
        self.assertEqual(kinds, ["pypi", "npm", "oci"] + ["mcpb"] * len(platforms))
        for package in server["packages"][3:]:
            file = self.out / package["identifier"].rpartition("/")[2]
            self.assertEqual(package["fileSha256"], hashlib.sha256(file.read_bytes()).hexdigest())
        # The registry looks for the server's name in what the packages say.
        with tarfile.open(self.out / f"{fact['name']}-{fact['version']}.tgz") as package:
            manifest = json.load(package.extractfile("package/package.json"))
        self.assertEqual(manifest["mcpName"], server["name"])
        with zipfile.ZipFile(*self.out.glob("*.whl")) as package:
            (name,) = [name for name in package.namelist() if name.endswith("/METADATA")]
            self.assertIn(f"mcp-name: {server['name']} ", package.read(name).decode())
        # The registry's schema, which this linter brings, and the rules that the registry adds to it.
        command = [sys.executable, "-m", "skillsaw", "lint", "--strict", "--rule", "mcp-registry-server-json-valid"]
        done = subprocess.run([*command, str(self.out)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"Repo type: +mcp-registry")

    def test_the_formula_names_each_archive_with_its_checksum(self):
        fact = {**self.fact, **SETTLED}
        archives = {}
        for platform in fact["platform"]:
            name = listings.archive(fact, platform["target"])
            (self.out / name).write_bytes(platform["target"].encode())
            if "windows" not in name:
                archives[name] = hashlib.sha256(platform["target"].encode()).hexdigest()
        listings.formula(fact, self.out)
        formula = self.out / "loci-memory.rb"
        urls = re.findall(r'url "(.*)"\n +sha256 "(.*)"', formula.read_text())
        base = f"{fact['repository']}/releases/download/v{fact['version']}/"
        self.assertEqual(dict(urls), {base + name: digest for name, digest in archives.items()})
        if shutil.which("ruby"):
            done = subprocess.run(["ruby", "-wc", str(formula)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_names_of_the_archive_agree(self):
        script = (ROOT / "scripts/release").read_text()
        (folder,) = re.findall(r"^name=(.*)$", script, re.MULTILINE)
        self.assertIn('>"$out/$name.tar.xz"', script)
        binstall = tomllib.loads((ROOT / "crates/loci/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
        for platform in self.fact["platform"]:
            values = {"version": self.fact["version"], "target": platform["target"], "repo": self.fact["repository"]}
            values |= {"bin": "loci", "binary-ext": ".exe" if "windows" in platform["target"] else ""}

            def filled(template, mark):
                return re.sub(mark, lambda found: values[found[1]], template)

            made = filled(folder, r"\$(\w+)")
            archive = listings.archive(self.fact, platform["target"])
            self.assertEqual(archive, f"{made}.tar.xz")
            url = filled(binstall["pkg-url"], r"\{ ([\w-]+) \}")
            self.assertEqual(url, files.release_file(self.fact, archive))
            program = filled(binstall["bin-dir"], r"\{ ([\w-]+) \}")
            self.assertEqual(program, f"{made}/loci{values['binary-ext']}")

    @unittest.skipUnless(shutil.which("dpkg-query"), "the libraries of an image come from Debian")
    def test_the_image_holds_together(self):
        here = f"{os.uname().machine}-unknown-linux-gnu"
        (platform,) = [other for other in self.fact["platform"] if other["target"] == here]
        # A small program that needs libraries, too.
        program = pathlib.Path(shutil.which("true"))
        written = []
        for folder in ("a", "b"):
            (self.out / folder).mkdir()
            image.image({**self.fact, **SETTLED}, platform, program, self.out / folder)
            (file,) = (self.out / folder).iterdir()
            written.append(file.read_bytes())
        self.assertEqual(*written)

        with tarfile.open(fileobj=io.BytesIO(written[0])) as archive:
            read = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}

        def blob(descriptor):
            content = read[f"blobs/{descriptor['digest'].replace(':', '/')}"]
            self.assertEqual(descriptor["digest"], f"sha256:{files.digest(content)}")
            self.assertEqual(descriptor["size"], len(content))
            return content

        (entry,) = json.loads(read["index.json"])["manifests"]
        manifest = json.loads(blob(entry))
        config = json.loads(blob(manifest["config"]))
        self.assertEqual(config["architecture"], platform["oci"])
        self.assertEqual(config["config"]["Labels"]["io.modelcontextprotocol.server.name"], SETTLED["registry_name"])
        kind, *check = config["config"]["Healthcheck"]["Test"]
        self.assertEqual((kind, check[0]), ("CMD", config["config"]["Entrypoint"][0]))
        # The reference is made from the command line itself.
        self.assertEqual(check[1:], ["doctor", "--server"])
        reference = (files.ROOT / "docs/reference.md").read_text()
        self.assertRegex(reference.partition("### loci doctor\n")[2].partition("\n### ")[0], r"`--server URL`")
        user = int(config["config"]["User"].partition(":")[0])
        self.assertNotEqual(user, 0)

        members = {}
        for layer, plain in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            content = gzip.decompress(blob(layer))
            self.assertEqual(plain, f"sha256:{files.digest(content)}")
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                members |= {member.name: member for member in archive}
        for name, member in members.items():
            self.assertEqual((member.uid, member.gid), (user, user) if name == "data" else (0, 0), name)
            # No name leads out of the image, and each lies in a folder of it.
            self.assertFalse({"", ".", ".."} & set(name.split("/")), name)
            if "/" in name:
                self.assertIn(name.rpartition("/")[0], members)
        self.assertEqual((members["data"].mode, members["tmp"].mode), (0o700, 0o1777))
        # The layer of the libraries stays the same from release to release.
        self.assertEqual((members["data"].mtime, members["usr/bin/loci"].mtime), (0, files.EPOCH))
        needed = [library.lstrip("/") for library in image.libraries(program)]
        self.assertTrue(any("libc.so" in name for name in needed), needed)
        for name in [*needed, "usr/bin/loci", "etc/passwd", "usr/share/doc/libc6/copyright", "usr/share/common-licenses/LGPL-2.1"]:
            self.assertIn(name, members)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg-deb makes the Debian package")
    def test_the_debian_package_says_what_policy_asks_for(self):
        program = self.out / "loci"
        program.write_text('#!/bin/sh\nif [ "$1" = man ]; then mkdir "$3" && echo .TH loci 1 >"$3/loci.1"; fi\n')
        program.chmod(0o755)
        fact, platform = {**self.fact, **SETTLED, "contact": "loci@example.org"}, self.fact["platform"][0]
        written = []
        for _ in range(2):
            self.build.debian(fact, platform, program, program.read_bytes(), self.out)
            (package,) = self.out.glob("*.deb")
            written.append(package.read_bytes())
        self.assertEqual(*written)

        def said(*arguments):
            return subprocess.run(["dpkg-deb", *arguments], check=True, capture_output=True, text=True).stdout

        self.assertEqual(said("--field", package, "Maintainer"), "The loci developers <loci@example.org>\n")
        synopsis, *description = said("--field", package, "Description").splitlines()
        self.assertNotRegex(synopsis, r"^(A|An|The) ")
        self.assertLessEqual(max(len(line) for line in description), 80)
        said("--extract", package, self.out / "root")
        said("--control", package, self.out / "control")
        rights = (self.out / "root/usr/share/doc/loci-memory/copyright").read_text()
        self.assertIn("/usr/share/common-licenses/Apache-2.0", rights)
        self.assertNotIn("TERMS AND CONDITIONS FOR USE", rights)
        summed = subprocess.run(["md5sum", "--check", "--quiet", self.out / "control/md5sums"], cwd=self.out / "root")
        self.assertEqual(summed.returncode, 0)

    def test_stand_ins_take_the_place_of_names_that_are_not_settled(self):
        for name, value in self.build.facts().items():
            if name in SETTLED:
                self.assertTrue(value, name)
        command = [sys.executable, str(ROOT / "packaging/build"), "--list", str(self.out)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((self.out / "server.json").read_text())["name"], self.fact["registry_name"])
        settled = subprocess.run([*command[:2], "--settled"], capture_output=True, text=True)
        for name in self.fact["unsettled"]:
            self.assertIn(name, done.stderr)
            self.assertIn(name, settled.stderr)
        self.assertEqual(settled.returncode, 1 if self.fact["unsettled"] else 0)

    def test_each_platform_has_a_recipe_in_the_script(self):
        script = (ROOT / "scripts/release").read_text()
        for platform in self.fact["platform"]:
            self.assertTrue(re.search(rf"\b{platform['target']}\b", script), platform["target"])

    def test_the_requirements_are_pinned(self):
        for line in (ROOT / "packaging/requirements.txt").read_text().splitlines():
            self.assertTrue(line.startswith("#") or "==" in line, line)
        tomllib.loads((ROOT / "packaging/package.toml").read_text())


if __name__ == "__main__":
    unittest.main()
