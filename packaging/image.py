"""The image for containers, made without an engine: the program, and the libraries of this machine that it needs."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from files import EPOCH, as_json, digest, gzipped, licences, tarred

# A user without rights, by number, since an engine can then tell that it is not root.
USER = 65532
PORT = 7821
SECOND = 1_000_000_000
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def ran(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """The loader and the libraries of a program, by the path under which the loader looks for them."""
    found = re.findall(r"(?:=> )?(/\S+) \(0x", ran("ldd", str(program)))
    if not found:
        sys.exit(f"build: no image: ldd names no library of {program}")
    return sorted(found)


def package_of(library):
    """The Debian package of a library. Debian 12 knows it by its path in /lib, later ones by that in /usr/lib."""
    for path in (library, os.path.realpath(library)):
        done = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.partition(": ")[0]
    sys.exit(f"build: no image: {library} is of no Debian package, so that its licence is not known")


def with_folders(files):
    """The files in order, each after the folders that it lies in."""
    folders = {str(parent) for name, _, _ in files for parent in pathlib.PurePosixPath(name).parents}
    named = {name for name, _, _ in files}
    more = [(folder, None, 0o755) for folder in folders - named - {"."}]
    return sorted(files + more, key=lambda file: file[0].split("/"))


def system(program):
    """What the program finds around it: libraries with their licences, users, and folders that it may write."""
    files = [
        ("data", None, 0o700),
        ("tmp", None, 0o1777),
        ("etc/group", f"root:x:0:\nloci:x:{USER}:\n".encode(), 0o644),
        ("etc/nsswitch.conf", b"hosts: files dns\n", 0o644),
        (
            "etc/passwd",
            f"root:x:0:0:root:/root:/sbin/nologin\nloci:x:{USER}:{USER}:loci:/data:/sbin/nologin\n".encode(),
            0o644,
        ),
        # Scanners read from this and from status.d which known flaws concern the libraries.
        ("etc/os-release", pathlib.Path("/etc/os-release").read_bytes(), 0o644),
    ]
    packages, named = set(), set()
    for library in libraries(program):
        files.append((library.lstrip("/"), pathlib.Path(library).read_bytes(), 0o755))
        packages.add(package_of(library))
    for package in sorted(packages):
        name = package.partition(":")[0]
        files.append((f"var/lib/dpkg/status.d/{name}", ran("dpkg-query", "--status", package).encode(), 0o644))
        copyright = pathlib.Path(f"/usr/share/doc/{name}/copyright")
        files.append((str(copyright).lstrip("/"), copyright.read_bytes(), 0o644))
        named |= set(re.findall(r"/usr/share/common-licenses/[\w.-]*\w", copyright.read_text()))
    for licence in sorted(named):
        if pathlib.Path(licence).is_file():
            files.append((licence.lstrip("/"), pathlib.Path(licence).read_bytes(), 0o644))
    # With the time of a release, the layer would be another one each time.
    return tarred(with_folders(files), {"data": USER}, moment=0)


def own(fact, binary):
    """The program and its licences."""
    texts = [(f"usr/share/doc/{fact['name']}/{name}", content, 0o644) for name, content in licences()]
    return tarred(with_folders([("usr/bin/loci", binary, 0o755), *texts]))


def image(fact, platform, program, out):
    """Writes an archive in the image layout of the Open Container Initiative."""
    here = os.uname().sysname == "Linux" and os.uname().machine == platform["target"].partition("-")[0]
    if not here or not shutil.which("dpkg-query"):
        print("build: no image: its libraries come from a Debian with the processor of the program", file=sys.stderr)
        return
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    labels = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.description": fact["description"],
        "org.opencontainers.image.licenses": fact["license"],
        "org.opencontainers.image.source": fact["repository"],
        "org.opencontainers.image.title": fact["title"],
        "org.opencontainers.image.version": fact["version"],
        # The MCP registry compares it with the name in server.json.
        "io.modelcontextprotocol.server.name": fact["registry_name"],
    }
    blobs = {}

    def blob(kind, content):
        blobs[f"blobs/sha256/{digest(content)}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest(content)}", "size": len(content)}

    # Two layers, so that a new version of the program leaves the one of the libraries as it is.
    layers = [system(program), own(fact, program.read_bytes())]
    config = {
        "created": created,
        "architecture": platform["oci"],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {f"{PORT}/tcp": {}},
            # Engines forward to the address of the container, and loopback is another one.
            "Env": ["PATH=/usr/bin", "LOCI_DATA=/data", f"LOCI_BIND=0.0.0.0:{PORT}"],
            "Entrypoint": ["/usr/bin/loci"],
            "Cmd": ["serve"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": labels,
            "StopSignal": "SIGTERM",
            # OCI names no such field; engines that know Docker's read it. The times are nanoseconds.
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/loci", "doctor", "--server"],
                "Interval": 30 * SECOND,
                "Timeout": 5 * SECOND,
                "StartPeriod": 60 * SECOND,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(layer)}" for layer in layers]},
        "history": [
            {"created": created, "created_by": f"packaging/build: {name}"} for name in ("libraries", "program")
        ],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(CONFIG, as_json(config)),
        "layers": [blob(LAYER, gzipped(layer)) for layer in layers],
        "annotations": labels,
    }
    entry = {
        **blob(MANIFEST, as_json(manifest)),
        "platform": {"architecture": platform["oci"], "os": "linux"},
        "annotations": {"org.opencontainers.image.ref.name": f"{fact['name']}:{fact['version']}"},
    }
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}
    blobs["index.json"] = as_json(index)
    blobs["oci-layout"] = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    files = with_folders([(name, content, 0o644) for name, content in blobs.items()])
    (out / f"{fact['name']}-{fact['version']}-{platform['oci']}.oci.tar").write_bytes(tarred(files))
