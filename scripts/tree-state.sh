#!/bin/sh
# Prints the commit of this tree and a checksum of its changes and untracked files: tree-state.sh [folder to leave out].
# Fails, with git's reason, if git does not know the tree: a tree of another owner, a source archive.
set -eu
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)
if [ "$(git rev-parse --show-toplevel)" != "$(pwd -P)" ]; then
  echo "tree-state.sh: $(pwd -P) is in a repository, but is not its top" >&2
  exit 1
fi
git diff --quiet HEAD || [ $? = 1 ]
set -- . ${1:+":(exclude)$1"}
echo "$commit $({
  git diff --binary HEAD -- "$@"
  git ls-files -z --others --exclude-standard -- "$@"
  git ls-files -z --others --exclude-standard -- "$@" | xargs -0r cat -- 2>/dev/null
} | cksum)"
