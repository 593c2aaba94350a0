# Becomes systemd, the first process of a node, in namespaces that enter.sh has furnished. $1 is the node's root folder, $2 its
# console. This process is in the node's cgroup of every hierarchy, and that is the root of its cgroup namespace.
set -eu
root=$1
console=$2

# systemd takes what is mounted here for its own. It gets each hierarchy again, from the node's cgroup down. With v1, the
# folder that holds them is a new one, since systemd adds to it and makes it read-only.
mounts=$(grep -E '^[^ ]+ /sys/fs/cgroup[^ ]* cgroup2? ' /proc/self/mounts | sort -u)
links=$(find /sys/fs/cgroup -maxdepth 1 -type l -printf '%l %f\n')
holder=$(stat --file-system --format %T /sys/fs/cgroup)
umount --recursive --lazy /sys/fs/cgroup
if [ "$holder" = tmpfs ]; then
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
fi
echo "$mounts" | while read -r _ folder type options _; do
    mkdir -p "$folder"
    mount -t "$type" -o "$options" "$type" "$folder"
done
echo "$links" | while read -r target name; do
    [ -z "$name" ] || ln -s "$target" "/sys/fs/cgroup/$name"
done

# Devices can be used as ever, but none can be added to the machine's.
mount -o remount,bind,ro /dev
if [ -e /dev/console ]; then
    mount --bind "$console" /dev/console
fi

# Only units of the node.
rm -rf /etc/systemd /usr/local/lib/systemd /usr/lib/systemd/system /usr/lib/systemd/system.conf.d \
    /usr/lib/systemd/system-generators /usr/lib/systemd/system-environment-generators
for folder in etc usr; do
    cp --no-dereference --recursive --force "$root/seed/$folder/." "/$folder"
done

# Pods reach the API server at the address of its Service; there is no kube-proxy.
echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
for chain in OUTPUT PREROUTING; do
    iptables --table nat --append "$chain" --destination 10.96.0.1 --protocol tcp --dport 443 \
        --jump DNAT --to-destination 127.0.0.1:6443
done

echo running
exec env --ignore-environment container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=no
