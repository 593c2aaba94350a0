//! Rules about `registries.conf` and its drop-ins.

super::family! {
    "registries", "`registries.conf` and its drop-in files, as CRI-O and Podman read them";

    REFUSED "refused" error
        "The runtime refuses the file, and with it the whole configuration."
        "correct the value; the message is the runtime's own"
    UNKNOWN_KEY "unknown-key" warning
        "The runtime ignores a key that it does not know."
        "correct the spelling, or remove the key"
    AMBIGUOUS_KEY "ambiguous-key" warning
        "Two spellings of one key set the same thing, and which one wins is left to chance."
        "keep the lower-case spelling only"
    IGNORED_ALIASES "ignored-aliases" warning
        "`aliases` is not a table, so the runtime ignores it."
        "write [aliases], and below it name = \"registry.example.com/name\""
    NEVER_MATCHES "never-matches" warning
        "No image name can match the prefix of this entry."
        "write the prefix as `host[:port][/path]` or `*.host`, without scheme, tag and digest"
    BLOCKED_ELSEWHERE "blocked-elsewhere" warning
        "`blocked` has no effect on an entry whose `location` sends its images elsewhere."
        "block the location in an entry of its own"
    UNUSABLE_LOCATION "unusable-location" warning
        "No image name can begin with this location, so every pull that uses the entry fails."
        "use host[:port] with a dot or a port in it, or localhost, and a path in lower case"
    DUPLICATE_PREFIX "duplicate-prefix" warning
        "The runtime ignores a second entry for the same prefix."
        "put all its mirrors into the first entry"
}
