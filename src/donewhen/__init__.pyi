from donewhen.api import CallFailed as CallFailed
from donewhen.api import Client as Client
from donewhen.api import ClientSession as ClientSession
from donewhen.api import DonewhenError as DonewhenError
from donewhen.api import Loop as Loop
from donewhen.api import LoopReport as LoopReport
from donewhen.api import RunResult as RunResult
from donewhen.api import connect as connect
from donewhen.api import run as run

__version__: str
