"""`headrace doctor --job`: finds problems in a job's counters. There is one check per file; to add one, write its file
and add a line here."""

from headrace.doctor.check import Check
from headrace.doctor.job import balance, devices, messages, placement, queues, ranks

CHECKS = (
    Check("ranks", "Job", "the ranks whose counters are there; ranks that have died", ranks.look),
    Check("balance", "Job", "how long ranks wait, and for whom", balance.look),
    Check("placement", "Job", "cores and GPUs that ranks share", placement.look),
    Check("messages", "Messages", "many short messages to one rank, which could be one", messages.look),
    Check("queues", "Messages", "messages that come before their receives; long queues of receives", queues.look),
    Check("devices", "Messages", "device memory that goes through the host; IPC mappings that are made anew", devices.look),
)
