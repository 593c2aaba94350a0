//! Rules about containerd's files, and about what they cannot express.

super::family! {
    "containerd", "containerd's `hosts.toml` and `config.toml`, and what they cannot express of a `registries.conf`";

    REFUSED "refused" error
        "containerd refuses the `hosts.toml`. It then works without the file and asks the registry itself."
        "correct the file: until then containerd ignores all of it and asks the registry itself"
    UNKNOWN_KEY "unknown-key" warning
        "containerd ignores a key that it does not know, such as a `server` that follows a table header."
        "correct the spelling, move the key before the first table, or remove it"
    UNUSABLE_HOST "unusable-host" warning
        "containerd cannot ask this host: its address has no host, or a scheme other than `http` and `https`."
        "write https://host[:port] or http://host[:port]"
    HOST_TWICE "host-twice" warning
        "The tables of one host are not next to each other, so containerd asks the host twice."
        "keep the tables of one host together"
    HOST_IGNORED "host-ignored" warning
        "containerd never asks a host that has no table of its own."
        "write it as `[host.\"https://host\"]`"
    PATH_BEFORE_V2 "path-before-v2" warning
        "Without `override_path`, containerd puts the path before `/v2`, which is rarely what you want."
        "if the images are below that path in the registry, put it after /v2 and set override_path = true"
    CAPABILITIES_IGNORED "capabilities-ignored" warning
        "`capabilities` at the top of the file have no effect without a `server`."
        "name the registry as server"
    MISSING_FILE "missing-file" error
        "A certificate or key does not exist, so every pull of the registry fails."
        "correct the path; a path without a leading slash is looked for beside hosts.toml"
    CONFIG_PATH "config-path" warning
        "With this `config.toml`, containerd reads no `hosts.toml` at all."
        "set config_path to one folder"
    DISAGREES "disagrees" warning
        "`registries.conf` and `certs.d` on this node pull from different places, or in a different order."
        "run `pullwright render --for containerd` to write certs.d from registries.conf"
    PATH "path" error_or_warning
        "containerd has mirrors for registries, not for paths in them. It is an error if containerd would ask a source that must not be contacted."
        "mirror the whole registry, or name the repositories by their mirror"
    FORBIDDEN_PATH "forbidden-path" error
        "containerd would ask a path that must not be contacted, because the path lies inside a mirror of another registry."
        "mirror the registry elsewhere, or forbid all of the mirror"
    WIDER "wider" error_or_warning
        "containerd asks mirrors of a path by digest for every image of the registry."
        "accept it, because a digest makes sure of what the mirrors give; or mirror the whole registry"
    TAG_ONLY "tag-only" error_or_warning
        "containerd also asks a mirror for tags by digest."
        "accept it, because a digest makes sure of what the mirror gives"
    ONE_ORDER "one-order" error_or_warning
        "containerd asks mirrors in one order, by tag and by digest."
        "list the mirrors in the same order for tags and for digests"
    WILDCARD "wildcard" error_or_warning
        "containerd has no wildcards, so an entry for `*.example.com` has no effect. It is an error if the entry blocks its hosts."
        "name the hosts that are used: containerd has no wildcards"
    SHORT_NAMES "short-names" warning
        "containerd looks for names without a registry on Docker Hub only, whatever search registries and aliases say."
        "write image names with their registry"
}
