//! Rules about the kubelet's `CredentialProviderConfig` and `KubeletConfiguration`.

super::family! {
    "kubelet", "the kubelet's `CredentialProviderConfig`, and its `KubeletConfiguration` as far as it concerns pulls";

    DECODE "decode" error
        "The kubelet cannot decode the file, and does not start."
        "correct the file: the kubelet does not start with it"
    INVALID "invalid" error
        "The kubelet refuses a value, and does not start."
        "correct the value: the kubelet does not start with it"
    DUPLICATE_NAME "duplicate-name" error
        "Two providers have the same name, and the kubelet does not start."
        "give each provider a name of its own"
    EMPTY_NAME "empty-name" warning
        "A provider without a name has no executable, and the kubelet does not start."
        "set name to the file name of the executable"
    REPEATED_PATTERN "repeated-pattern" warning
        "`matchImages` lists a pattern twice."
        "remove one"
    SCHEME "scheme" warning
        "A pattern with a scheme never matches: the kubelet takes the scheme for the host."
        "remove the scheme"
    DROPPED_PART "dropped-part" warning
        "The kubelet drops a user, and everything after `?` or `#`, from the pattern."
        "remove that part; the only glob is `*`"
    NO_HOST "no-host" warning
        "A pattern without a host never matches."
        "begin with the registry's host"
    DOCKER_IO "docker-io" warning
        "`index.docker.io` never matches: the kubelet calls images of Docker Hub `docker.io/…`."
        "write `docker.io`"
    IPV6_WITHOUT_PORT "ipv6-without-port" warning
        "An IPv6 address without a port never matches: the kubelet reads it as a glob."
        "add the port: `[::1]:5000`"
    IMPOSSIBLE_HOST "impossible-host" warning
        "The host has a character that no image's host has, so the pattern never matches."
        "use letters, digits, `.`, `-`, and `*` within one label"
    UPPER_CASE "upper-case" warning
        "The pattern has capital letters: a path with them never matches, and a host only images that are written the same way."
        "write it in lower case"
    SINGLE_LABEL_HOST "single-label-host" warning
        "A first part without a dot or a port is not a host but a namespace of Docker Hub; `*` does not match a dot."
        "write as many labels as the host has (`*.*`, `*.example.com`), or add the port"
    PORT "port" warning
        "The pattern matches only images that are written with this port, or the port is invalid."
        "write the port of the registry, or no port if images are named without one"
    GLOB_IN_PATH "glob-in-path" warning
        "Globs work in hosts; `*` in a path is an ordinary character, so the pattern never matches."
        "end the pattern before the `*`: a path is a prefix anyway"
    TAG_IN_PATTERN "tag-in-pattern" warning
        "A pattern with a tag or a digest never matches: the kubelet looks for names without them."
        "remove tag and digest"
    IMPOSSIBLE_PATH "impossible-path" warning
        "No image can have this path, so the pattern never matches."
        "write a path as in the image's name"
    PATH_BOUNDARY "path-boundary" warning
        "A path is a prefix that may end within a name: `registry.example.com/team` also matches `registry.example.com/teams/…`."
        "end with a slash"
    TRAILING_SLASH "trailing-slash" warning
        "With the slash, the pattern does not match the repository itself, only what is below it."
        "remove the slash, unless that is what you want"
    CACHED_PROVIDER "cached-provider" warning
        "`crio-credential-provider` writes a file for each pull, and with a cache the kubelet does not always ask it."
        "set defaultCacheDuration to \"0s\""
    PROVIDER_WITHOUT_TOKEN "provider-without-token" warning
        "`crio-credential-provider` gets no token, and cannot read Secrets without one."
        "add tokenAttributes with the API server's audience and cacheType: Token"
    SHARED_CACHE "shared-cache" warning
        "With cacheType `ServiceAccount` the kubelet uses the answer for one Pod for the pull of another, for which no file was written."
        "set cacheType to Token"
    PULLS_WAIT "pulls-wait" warning
        "Pulls wait for one another, and a pull that waits too long finds its auth file gone."
        "set serializeImagePulls: false and leave out maxParallelImagePulls; or raise --remove-unclaimed-after of crio-credential-provider, and any Pod of the namespace can take the file for that much longer; with --deliver ticket (containerd) you need not do anything"
}
