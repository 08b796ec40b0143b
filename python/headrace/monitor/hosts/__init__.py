"""Several hosts: collectors report their readings to one monitor.

On each host `report` (a loop: look, send, wait for the answer), at the monitor `gather` (a source of all hosts' last reports),
between them `channel` (first proof of the secret, then messages of bounded length that no third party can change), `message` (a sweep as
JSON, and what is wrong with one), `secret` (the file that both have).
"""
