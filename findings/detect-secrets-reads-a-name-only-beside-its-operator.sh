#!/usr/bin/env bash
# Package:   detect-secrets 1.5.0 (PyPI)
# Behaviour: `password: VALUE` is reported in a Markdown file, in YAML and in settings. The same name and
#            value are not reported as `**Password:** VALUE`, as `| password | VALUE |`, as
#            `<password>VALUE</password>` or as `<add key="password" value="VALUE"/>`, although the files
#            are scanned without an error.
# Surprise:  The keyword detector is documented by its names (password, apikey, secret), so one expects
#            a name and a value to be enough, and an empty report to mean that no password is named. The
#            operator must touch the name: the marks that Markdown and XML put between both hide them.
# Date:      2026-11-28
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check detect-secrets==1.5.0
echo "detect-secrets $(venv/bin/detect-secrets --version)"
venv/bin/python - <<'P'
import json, pathlib, random, string, subprocess, sys

draw = random.Random(11)
value = "".join(draw.choice(string.ascii_letters + string.digits) for _ in range(20))
forms = {
    "plain.md": (f"password: {value}\n", True),
    "settings.yaml": (f"password: {value}\n", True),
    "settings.ini": (f"[db]\npassword = {value}\n", True),
    "bold.md": (f"**Password:** {value}\n", False),
    "table.md": (f"| name | value |\n|---|---|\n| password | {value} |\n", False),
    "element.xml": (f"<password>{value}</password>\n", False),
    "attribute.xml": (f'<add key="password" value="{value}"/>\n', False),
}
seen = True
for name, (text, expected) in forms.items():
    pathlib.Path(name).write_text(text)
    out = subprocess.check_output(["venv/bin/detect-secrets", "scan", name], text=True)
    is_reported = bool(json.loads(out)["results"])
    print(f"  {name:14} {'reported' if is_reported else 'not reported'}")
    seen &= is_reported == expected
sys.exit(0 if seen else 1)
P
