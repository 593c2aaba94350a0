//! Rules about a node's own auth file.

super::family! {
    "auth-file", "the node's own auth file: `auth.json`, `config.json`, `.dockercfg`";

    UNREADABLE "unreadable" error
        "The runtime refuses the whole file, and every pull that consults it fails."
        "correct the file: until then, every pull that consults it fails"
    ENTRY "entry" error_or_warning
        "The runtime cannot use an entry. It is an error if every pull that finds the entry fails."
        "set auth to the base64 of username:password"
    KEY "key" warning
        "The runtime never finds an entry with this key, or uses it for more images than the key says."
        "write host[:port] or host[:port]/namespace"
    AMBIGUOUS_HOST "ambiguous-host" warning
        "Several keys stand for one host, and the runtime uses any of them."
        "keep one, without a scheme"
    CREDS_STORE "creds-store" warning
        "The runtime does not support `credsStore`."
        "name the helper for each host in credHelpers"
}
