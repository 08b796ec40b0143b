"""`headrace doctor --run`: measures every link and names those that are slower than the others. There is one check per file; to add
one, write its file and add a line here."""

from headrace.doctor.check import Check
from headrace.doctor.run import builds, crowd, odd

CHECKS = (
    Check("builds", "Links", "the same build of the library on all hosts", builds.look),
    Check("latency", "Links", "links with more delay than the others", odd.latency),
    Check("bandwidth", "Links", "links that carry less than the others", odd.bandwidth),
    Check("together", "Links", "what is left of each link when all are busy", crowd.look),
)
