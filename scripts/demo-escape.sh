# Try to leave the sandbox, harmlessly. `scripts/demo` checks the effects.
home=$1 outside=$2 victim=$3

echo "by the command" >work.txt && grep -q "by the command" work.txt && echo "tree: mine"
echo "by the command" >"$outside"
cat "$home/.ssh/id_demo"
kill "$victim" && echo "signal: sent"
unshare -Ur true && echo "namespace: mine"
grep -qv '^Iface' /proc/net/route && echo "route: found"
exit 0
