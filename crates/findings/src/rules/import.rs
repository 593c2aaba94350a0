//! Rules about what `pullwright import` cannot take over.

super::family! {
    "import", "what `pullwright import` cannot take over from containerd or K3s";

    NOTHING "nothing" warning
        "The files name no mirrors."
        "check the path; a registry without mirrors needs no mirror set"
    ALL_REGISTRIES "all-registries" error
        "Mirrors for all registries (`_default`, `\"*\"`) cannot be written in a mirror set."
        "name each registry that is used as a source"
    SETTINGS "settings" warning
        "A mirror set has no place for certificates, headers and timeouts."
        "put certificates into a folder of the host below /etc/containers/certs.d; headers and timeouts cannot be kept"
    SHADOWED "shadowed" warning
        "containerd does not read this file, because another folder for the same host comes first."
        "keep one of the two folders"
    PATH "path" error
        "The host is left out, because its path is not below `/v2`."
        "ask the registry's operator for an address below /v2"
    SOURCE_FIRST "source-first" warning
        "containerd asks the registry before its mirrors, and the imported rule asks it last."
        "to keep the order, name the source among its mirrors, in its place"
    ONE_POLICY "one-policy" warning
        "The registry may be asked by digest or by tag but not by both. A mirror set can only forbid both, and does."
        "remove mirrorSourcePolicy where the source may be asked"
    INSECURE "insecure" warning
        "One registry uses the host without verification and another one with it. A cluster has one setting for both, and the certificate is verified."
        "give the host a certificate that nodes trust"
}
