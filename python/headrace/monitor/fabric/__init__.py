"""This host's links: InfiniBand, RoCE, Slingshot and Ethernet ports, with their traffic, errors and states."""

from .fabric import Fabric
from .port import FIGURES, Port

__all__ = ["FIGURES", "Fabric", "Port"]
