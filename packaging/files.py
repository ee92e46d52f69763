"""Archives that have the same bytes every time, and what all packages say of loci."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import tarfile
import time
import zipfile

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "THIRD-PARTY-NOTICES.txt"]
# They stand for the names that are not settled. The domain `.invalid` belongs to no one, so nothing can be published
# under them.
STAND_INS = {
    "registry_name": "invalid.loci/loci-memory",
    "repository": "https://loci.invalid/loci",
    "image": "loci.invalid/loci-memory",
    "contact": "loci@loci.invalid",
}


def facts():
    """What every package says: the file of the packages, and the version and licence of Cargo.toml."""
    package = tomllib.loads((ROOT / "packaging/package.toml").read_text())
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    unsettled = [name for name in STAND_INS if not package[name]]
    stand_ins = {name: STAND_INS[name] for name in unsettled}
    same = {"version": workspace["version"], "license": workspace["license"]}
    return {**package, **stand_ins, **same, "unsettled": unsettled}


def synopsis(fact):
    """The description without its article, as Debian and Homebrew want it."""
    return re.sub(r"^(An?|The) (.)", lambda found: found[2].upper(), fact["description"])


def release_file(fact, name):
    """The URL of a file of this release."""
    return f"{fact['repository']}/releases/download/v{fact['version']}/{name}"


def zipped(path, files):
    """Writes an archive of (name, bytes, mode) in that order."""
    moment = time.gmtime(max(EPOCH, 315532800))[:6]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)


def tarred(files, owners=None, moment=EPOCH):
    """The bytes of a tar file of (name, bytes or None for a folder, mode); all belong to root but for the `owners`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime = mode, moment
            entry.uid = entry.gid = (owners or {}).get(name, 0)
            if content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def gzipped(content):
    return gzip.compress(content, compresslevel=9, mtime=0)


def licences():
    return [(name, (ROOT / name).read_bytes()) for name in LICENCES]


def as_json(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def digest(content):
    return hashlib.sha256(content).hexdigest()
