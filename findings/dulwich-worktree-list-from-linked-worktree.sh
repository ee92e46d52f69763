#!/usr/bin/env bash
# Package:   dulwich 1.2.21 (PyPI), with git
# Behaviour: porcelain.worktree_list() from a linked worktree lists that worktree alone, as if it were
#            the main one; `git worktree list` lists all of them from wherever it runs. And a folder
#            whose file `.git` names a bare repository beside it (the layout X/.git -> X/.bare) is not
#            bare for Repo.bare, although core.bare is true: porcelain.status() there reports each
#            committed file as deleted, and the worktrees as untracked.
# Surprise:  Repo.commondir() is right in both places, so one expects the functions that list
#            worktrees to start from it. Tools that look for the main work tree find the wrong one.
# Date:      2026-11-28
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check dulwich==1.2.21
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git() { command git -c user.name=x -c user.email=x@example.org "$@"; }
git init -q seed && (cd seed && echo tea > leaf && git add leaf && git commit -qm first)
mkdir pot && git clone -q --bare seed pot/.bare && echo "gitdir: ./.bare" > pot/.git
git -C pot worktree add -q main -b one && git -C pot worktree add -q fix -b two
echo "dulwich $(venv/bin/pip show dulwich 2>/dev/null | sed -n 's/^Version: //p'), $(command git --version)"
venv/bin/python - <<'P'
import os, subprocess, sys
from dulwich import porcelain
from dulwich.repo import Repo

def of_git(folder):
    out = subprocess.check_output(["git", "worktree", "list", "--porcelain"], cwd=folder, text=True)
    return sum(line.startswith("worktree ") for line in out.splitlines())

counts = {f: (of_git(f), len(porcelain.worktree_list(f))) for f in ("pot/.bare", "pot/main")}
for folder, (git, dulwich) in counts.items():
    print(f"  {folder:10} git lists {git} worktrees, dulwich {dulwich}")
one = os.path.realpath(Repo("pot/main").commondir()) == os.path.realpath("pot/.bare")
status = porcelain.status("pot")
asked = ["git", "-C", "pot", "rev-parse", "--is-bare-repository"]
bare = subprocess.check_output(asked, text=True).strip()
print(f"  commondir of pot/main is pot/.bare: {one}")
print(f"  pot: git says bare {bare}, dulwich {Repo('pot').bare}, deleted {status.staged['delete']}")
seen = (counts["pot/.bare"], counts["pot/main"], one, bare, Repo("pot").bare, status.staged["delete"])
sys.exit(0 if seen == ((3, 3), (3, 1), True, "true", False, [b"leaf"]) else 1)
P
