//! Rules about `spec.registrySources` of `Image/cluster`.

super::family! {
    "registry-sources", "`spec.registrySources` of `Image/cluster`";

    INVALID_ENTRY "invalid-entry" error
        "An entry is not a registry or a path in one, so it is left out."
        "use host[:port][/path] or *.host, without scheme, tag and digest"
    BLOCKED_AND_ALLOWED "blocked-and-allowed" warning
        "`blockedRegistries` and `allowedRegistries` are both set."
        "remove one: registries.conf has the blocked ones, but the signature policy cannot be made from both"
    BLOCKS_PAYLOAD "blocks-payload" error
        "A blocked registry would keep nodes from pulling the release image, so the entry is left out."
        "mirror the repository of the release image in an ImageDigestMirrorSet, to where nothing is blocked"
    PAYLOAD_NOT_ALLOWED "payload-not-allowed" warning
        "`allowedRegistries` does not contain the repository of the release image."
        "allow it and all registries that the cluster needs, or nodes can neither be added nor updated"
    INSECURE_BELOW_MIRROR "insecure-below-mirror" warning
        "An insecure entry lies inside a mirror. Pulls through the mirror use the mirror's own setting."
        "list the mirror itself if all of it is insecure"
}
