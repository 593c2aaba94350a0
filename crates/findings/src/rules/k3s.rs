//! Rules about the `registries.yaml` of K3s and RKE2, and about what it cannot express.

super::family! {
    "k3s", "`registries.yaml` of K3s and RKE2, and what it cannot express of a `registries.conf`";

    REFUSED "refused" error
        "K3s does not start with this file."
        "correct the value: K3s does not start with this file"
    UNKNOWN_KEY "unknown-key" warning
        "K3s ignores a key that it does not know."
        "correct the spelling, or remove the key"
    ENDPOINT "endpoint" warning
        "K3s ignores an endpoint whose address it cannot use."
        "write https://host[:port] or http://host[:port]"
    CREDENTIALS "credentials" warning
        "Credentials in the file are not taken over into mirror sets, which have no place for them."
        "put them into a pull secret of the namespaces that need them, or into the node's own auth file"
    REWRITE "rewrite" error
        "A mirror set cannot express this rewrite, so the mirrors of the entry are left out."
        "write rules for paths by hand, or rewrites like \"^path/(.*)$\": \"other/path/$1\" of different paths"
    PATH "path" error_or_warning
        "K3s has mirrors for registries, not for paths in them. It is an error if K3s would ask a source that must not be contacted."
        "mirror the whole registry, or name the repositories by their mirror"
    FORBIDDEN_PATH "forbidden-path" error
        "K3s would ask a path that must not be contacted, because the path lies inside a mirror of another registry."
        "mirror the registry elsewhere, or forbid all of the mirror"
    BLOCKED "blocked" error
        "K3s asks every registry itself in the end, also one that must not be contacted."
        "start K3s with --disable-default-registry-endpoint, which applies to all registries with mirrors"
    INSECURE "insecure" warning
        "K3s has one TLS setting for a host, so a host that is insecure in one place is insecure everywhere."
        "give the host a certificate that nodes trust, or accept that it is insecure wherever it is named"
    DIGEST_ONLY "digest-only" warning
        "K3s also asks a mirror for digests by tag, and the mirror then chooses what the tag is."
        "leave the mirror out if you do not trust it with tags: K3s takes its word for the content"
    TAG_ONLY "tag-only" warning
        "K3s also asks a mirror for tags by digest."
        "accept it, because a digest makes sure of what the mirror gives"
    ONE_ORDER "one-order" warning
        "K3s asks mirrors in one order, by tag and by digest."
        "list the mirrors in the same order for tags and for digests"
}
