"""Several hosts: collectors report their readings to one monitor.

Each host runs `report` (a loop: read, send, wait for the answer); the monitor runs `gather` (a source of all hosts' last reports).
Between them are `channel` (proof of the secret, then messages of limited length that no third party can change),
`message` (a sweep as JSON, and its checks) and `secret` (the file shared by both sides).
"""
