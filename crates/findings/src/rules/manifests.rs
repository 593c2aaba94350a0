//! Rules about files of manifests.

super::family! {
    "manifests", "files of Kubernetes manifests";

    UNREADABLE "unreadable" error_or_warning
        "The file, or one document in it, is neither YAML nor JSON, or cannot be read. It is a warning where the rest can still be used."
        "correct the file"
}
