"""A scripted launcher: serves PMI-1 to ranks on this machine, which it declares to be on several hosts."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess


class Job:
    """`mapping`: PMI_process_mapping, or None for a launcher without one. `ours`: behaves like Headrace's mpiexec,
    which names the key-value space, delays the reply to a query until the key is put, and declares the mapping as with
    --as-hosts. variables[rank]: environment that only this rank has."""

    def __init__(self, command, mapping, ours, variables):
        self.space = "headrace_test" if ours else "kvs_0"
        self.values = {} if mapping is None else {"PMI_process_mapping": mapping}
        self.size = len(variables)
        self.declares = f" machine_ranks={self.size}" if ours and mapping is not None else ""
        self.fences = self.gets = self.inside = 0
        self.asked = []
        self.lines = selectors.DefaultSelector()
        self.ends, self.ranks = [], []
        for rank, own in enumerate(variables):
            here, there = socket.socketpair()
            self.ends.append(here)
            self.lines.register(here, selectors.EVENT_READ, [rank, b""])
            environment = {**os.environ, "PMI_FD": str(there.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(self.size),
                           **own}
            self.ranks.append(subprocess.Popen(command, env=environment, pass_fds=[there.fileno()], text=True,
                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            there.close()

    def run(self, limit=60):
        """Returns the result of each rank: (exit code, output, errors)."""
        try:
            while self.lines.get_map():
                ready = self.lines.select(limit)
                if not ready:
                    raise TimeoutError(f"nothing for {limit} s; {self.inside} of {self.size} in a fence")
                for key, _ in ready:
                    self.read(key)
            return [(rank.wait(limit), *rank.communicate(timeout=limit)) for rank in self.ranks]
        finally:
            for rank in self.ranks:
                if rank.poll() is None:
                    rank.kill()
                rank.communicate()
            for end in self.ends:
                end.close()

    def read(self, key):
        received = key.fileobj.recv(65536)
        if not received:
            self.lines.unregister(key.fileobj)
            return
        *whole, key.data[1] = (key.data[1] + received).split(b"\n")
        for line in whole:
            self.answer(key.data[0], dict(word.split("=", 1) for word in line.decode().split()))

    def send(self, rank, line):
        self.ends[rank].sendall((line + "\n").encode())

    def answer(self, rank, words):
        command, key = words["cmd"], words.get("key")
        if command == "put":
            self.values[key] = words["value"]
            self.send(rank, "cmd=put_result rc=0")
            waiting, self.asked = self.asked, []
            for each, wanted in waiting:
                self.answer(each, wanted)
        elif command == "get":
            if key not in self.values and words.get("wait") == "1" and self.space.startswith("headrace"):
                self.asked.append((rank, words))
                return
            self.gets += 1
            self.send(rank, f"cmd=get_result rc=0 value={self.values[key]}" if key in self.values
                      else "cmd=get_result rc=-1 msg=key_not_found")
        elif command == "barrier_in":
            self.inside += 1
            if self.inside == self.size:
                self.inside = 0
                self.fences += 1
                for each in range(self.size):
                    self.send(each, "cmd=barrier_out rc=0")
        else:
            self.send(rank, {"init": f"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0{self.declares}",
                             "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
                             "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={self.space}",
                             "get_appnum": "cmd=appnum rc=0 appnum=0",
                             "get_universe_size": f"cmd=universe_size rc=0 size={self.size}",
                             "finalize": "cmd=finalize_ack rc=0"}[command])
