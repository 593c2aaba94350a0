//! Rules about pull secrets.

super::family! {
    "secret", "pull secrets: Secrets of type `kubernetes.io/dockerconfigjson` or `kubernetes.io/dockercfg`";

    UNUSABLE "unusable" error_or_warning
        "Nothing in the Secret can be used to pull. It is a warning if only the type is wrong."
        "correct the value, or make the Secret with `kubectl create secret docker-registry`"
    ENTRY "entry" error
        "An entry has no usable credential, so it is ignored."
        "set auth to the base64 of username:password, or set username and password"
    KEY "key" warning
        "The key of an entry does not name a registry, or a path in one, so the entry is ignored."
        "write the key as host[:port] or host[:port]/namespace"
}
