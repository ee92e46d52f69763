#!/usr/bin/env bash
# Package:   GitPython 3.2.1 (PyPI), with git
# Behaviour: Repo.common_dir is the private folder of a linked worktree with "/../.." behind it, so it
#            is another text in each worktree of one repository, and another than in the main one.
# Surprise:  The common folder is what all worktrees share, and `git rev-parse
#            --path-format=absolute --git-common-dir` prints one text for all of them. Whoever takes
#            the property as the key of a project has one project for each worktree.
# Date:      2026-11-28
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check GitPython==3.2.1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git() { command git -c user.name=x -c user.email=x@example.org "$@"; }
git init -q kettle && cd kettle && git commit -q --allow-empty -m first
git worktree add -q ../steam -b steam && git worktree add -q ../whistle -b whistle && cd ..
echo "GitPython $(venv/bin/pip show GitPython 2>/dev/null | sed -n 's/^Version: //p'), $(command git --version)"
venv/bin/python - <<'P'
import os, subprocess, sys
import git

folders = ["kettle", "steam", "whistle"]
ask = ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"]
of_git = {subprocess.check_output(ask, cwd=f, text=True).strip() for f in folders}
seen = {f: git.Repo(f).common_dir for f in folders}
for folder, path in seen.items():
    print(f"  {folder:8} common_dir {os.path.relpath(path)}" if ".." not in path
          else f"  {folder:8} common_dir {path.removeprefix(os.getcwd() + '/')}")
same = len({os.path.realpath(p) for p in seen.values()}) == 1
print(f"  git says {len(of_git)} folder, GitPython {len(set(seen.values()))} texts, of one folder: {same}")
sys.exit(0 if (len(of_git), len(set(seen.values())), same) == (1, 3, True) else 1)
P
