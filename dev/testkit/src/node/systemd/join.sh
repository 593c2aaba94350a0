# Joins the cgroup $1 in every hierarchy, then runs the rest.
set -eu
cgroup=$1
shift
for processes in "/sys/fs/cgroup/$cgroup/cgroup.procs" /sys/fs/cgroup/*/"$cgroup/cgroup.procs"; do
    if [ -e "$processes" ]; then
        echo 0 > "$processes"
    fi
done
exec "$@"
