# Furnishes the new namespaces of a node, then becomes their first process. $1 is the node's root folder, $2 the names of the
# machine's folders that the node may change, and the rest is the command. Nothing here changes the machine outside: the
# network is empty, those folders are copies on write, /run is new, and every mount ends with the namespace.
set -eu
root=$1
folders=$2
shift 2

hostname node-a
# The kubelet gives volumes to containers by mounts that have to be seen by the runtime.
mount --make-rshared /

# The kubelet wants an interface that is not the loopback. Where the kernel has no dummy ones an empty bridge will do.
ip link set lo up
ip link add nic0 type dummy 2>/dev/null || ip link add nic0 type bridge
ip address add 10.123.0.2/24 dev nic0
ip link set nic0 up
ip route add default via 10.123.0.1
echo 1 > /proc/sys/net/ipv4/ip_forward

for folder in $folders; do
    mkdir -p "$root/overlay/$folder/upper" "$root/overlay/$folder/work"
    chmod --reference="/$folder" "$root/overlay/$folder/upper"
    mount -t overlay overlay "/$folder" \
        -o "lowerdir=/$folder,upperdir=$root/overlay/$folder/upper,workdir=$root/overlay/$folder/work"
done
mount -t tmpfs tmpfs /run

# Folders that tests read and write are the same inside and outside.
for folder in etc/containers etc/crio etc/kubernetes var/lib/kubelet var/log/pods; do
    mkdir -p "$root/files/$folder" "/$folder"
    mount --bind "$root/files/$folder" "/$folder"
done

# No name leads out. The source registries are mapped to the loopback, where they are refused at once.
rm -f /etc/resolv.conf /etc/hosts
echo nameserver 127.0.0.1 > /etc/resolv.conf
echo 127.0.0.1 localhost node-a docker.io registry-1.docker.io auth.docker.io > /etc/hosts

# The kubelet and systemd set these for the whole machine. They get files of the node, with the values that they want.
already() {
    mkdir -p "$root/sysctl/$(dirname "$1")"
    echo "$2" > "$root/sysctl/$1"
    mount --bind "$root/sysctl/$1" "/proc/sys/$1"
}
already vm/overcommit_memory 1
already vm/panic_on_oom 0
already kernel/panic 10
already kernel/panic_on_oops 1
already fs/file-max "$(cat /proc/sys/fs/file-max)"
already fs/nr_open "$(cat /proc/sys/fs/nr_open)"

# The controllers that are mounted, in place of all that the kernel has.
if [ -e "$root/cgroups" ]; then
    mount --bind "$root/cgroups" /proc/cgroups
fi

exec "$@"
