"""A server that speaks the wires of model providers and follows a script, including faults.

Standard library only. Start it inside a test with `serving(...)`, or alone with `python -m wire_server`.
"""

from .answers import Answer, SaidCall, Wire, frames, wire_of
from .server import (
    Act,
    Cuts,
    Decides,
    Pings,
    Received,
    Refuses,
    Says,
    Sends,
    Silent,
    Stalls,
    WireServer,
    serving,
)

__all__ = [
    "Act",
    "Answer",
    "Cuts",
    "Decides",
    "Pings",
    "Received",
    "Refuses",
    "SaidCall",
    "Says",
    "Sends",
    "Silent",
    "Stalls",
    "Wire",
    "WireServer",
    "frames",
    "serving",
    "wire_of",
]
