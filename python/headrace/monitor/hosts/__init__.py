"""Several hosts: collectors report what they read to one monitor.

On each host `report` (a loop: look, send, wait for the answer), at the monitor `gather` (a source of what all hosts said last),
between them `channel` (the secret proven first, then messages of bounded length that nobody can change), `message` (a sweep as
JSON, and what is wrong with one), `secret` (the file that both have).
"""
