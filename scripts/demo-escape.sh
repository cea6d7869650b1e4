# Tries to get out, harmlessly, and says what it could do. Exit code 0 when nothing worked or nothing was held back.
tree=$1 home=$2 outside=$3 victim=$4

try() {
    what=$1
    shift
    if "$@" >/dev/null 2>&1; then echo "  could   $what"; else echo "  could not   $what"; fi
}
write_in_tree() { echo changed >"$tree/file.txt"; }
write_outside() { echo gotcha >"$outside"; }
read_key() { cat "$home/.ssh/id_demo"; }
kill_outside() { kill "$victim"; }
new_namespace() { unshare -Ur true; }
network() { getent ahosts example.com || ip route get 192.0.2.1; }

try "edit a file of the repository (this is its work)" write_in_tree
try "write a file outside the repository" write_outside
try "read a private key in the home directory" read_key
try "kill a process that is not its own" kill_outside
try "make a user namespace of its own" new_namespace
try "find a way to the network" network
exit 0
