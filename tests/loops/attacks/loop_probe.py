"""What an agent of a loop tries: to find the token, to read what belongs to the runtime, and to decide about its work.

`probe.py STATE HOME ID PYTHON WHO` prints one line for everything that it reaches. It runs as a command of the maker,
of the checker, of a check and of an input, and in the control arm without isolation.
"""

TOKEN = "ghp_canary0123456789abcdef"
PROBE = """\
import glob, json, os, socket, subprocess, sys
state, home, id, python, who = sys.argv[1:6]
mark = b"ghp_" + b"canary"
def found(place):
    print(f"{who} reached {place}.")
def search(place, path):
    try:
        with open(path, "rb") as file:
            if mark in file.read(1 << 24):
                found(place)
    except OSError:
        pass
print(f"{who} looked.")
if mark in repr(dict(os.environ)).encode():
    found("own environment")
for path in glob.glob("/proc/[0-9]*/environ"):
    search("environment of a process", path)
for path in glob.glob("/proc/[0-9]*/cmdline"):
    search("arguments of a process", path)
for above, _, names in os.walk(home):
    for name in names:
        path = os.path.join(above, name)
        search("home: " + name, path) if not path.startswith(state) else None
for name in ("trust.json", "loops.db", "sessions.db"):
    for above, _, names in os.walk(state):
        if name in names:
            try:
                os.close(os.open(os.path.join(above, name), os.O_RDWR))
                found("state: " + name)
            except OSError:
                pass
for path in glob.glob(state + "/**/control/*.sock", recursive=True):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(5)
            one.connect(path)
            one.sendall(json.dumps({"do": "nothing"}).encode() + b"\\n")
            one.recv(100) and found("control socket")
    except OSError:
        pass
if id != "-":
    env = {**os.environ, "HOME": home, "XDG_STATE_HOME": os.path.dirname(state), "XDG_CONFIG_HOME": home + "/.config"}
    done = subprocess.run([python, "-m", "donewhen", "approve", id], env=env, capture_output=True, timeout=60)
    print("approval ended with", done.returncode)
"""
PLACES = (
    "environment of a process",
    "home: .netrc",
    "home: .git-credentials",
    "home: hosts.yml",
    "home: config.toml",
    "state: trust.json",
    "state: loops.db",
    "control socket",
)
