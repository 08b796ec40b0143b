"""Links of this host: ports of InfiniBand, RoCE, Slingshot and Ethernet, their traffic, errors and states."""

from .fabric import Fabric
from .port import FIGURES, Port

__all__ = ["FIGURES", "Fabric", "Port"]
