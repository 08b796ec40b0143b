"""A source tree of a test's own, in self.tree, that git knows."""

import subprocess


class OwnTree:
    def git(self, *words):
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=self.tree, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "test")
