//! Names that several programs must spell alike: labels, annotations, and the operator's own. Also which names objects may have.

/// The name of the operator: its service account, its Lease, its field manager, and the value of [`MANAGED_BY`].
pub const OPERATOR: &str = "pullwright-operator";

/// The namespace that the operator runs in.
pub const OPERATOR_NAMESPACE: &str = "pullwright-system";

/// The label of every object that the operator writes. Its value is [`OPERATOR`]; an object without it belongs to someone else.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The name of the node agent: its service account and its field manager.
pub const AGENT: &str = "pullwright-agent";

/// The annotation of a `NodeConfiguration` that all nodes of its runtime have had, with a number that is higher than that of those which
/// all nodes had before. Nodes that join while another one is tried get the one with the highest number.
pub const ROLLED_OUT: &str = "pullwright.dev/rolled-out";

/// The label of a namespace whose Role and `RoleBinding` the operator writes: [`PULL_ACCESS_LIST`] or [`PULL_ACCESS_NAMED`].
pub const PULL_ACCESS: &str = "pullwright.dev/pull-access";

/// The value of [`PULL_ACCESS`] for a plugin that runs with `--secrets list`.
pub const PULL_ACCESS_LIST: &str = "list";

/// The value of [`PULL_ACCESS`] for a plugin that runs with `--secrets named`.
pub const PULL_ACCESS_NAMED: &str = "named";

/// The annotation with names of Secrets, separated by commas. The plugin reads it from a `ServiceAccount`, the operator from a
/// namespace.
pub const PULL_SECRETS: &str = "pullwright.dev/pull-secrets";

/// The annotation of a namespace with the names of the `ServiceAccounts` that may read its pull secrets, separated by commas.
/// Without it, this is `default`.
pub const SERVICE_ACCOUNTS: &str = "pullwright.dev/service-accounts";

/// The service account that Pods have unless they name another.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// Whether the API accepts it as the name of an object: a DNS-1123 subdomain. Such a name has neither `/` nor `..`, so it cannot
/// lead out of a folder.
#[must_use]
pub fn is_object_name(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_object_name;

    #[test]
    fn a_name_cannot_lead_out_of_a_folder() {
        let good = ["a", "ubi8repo", "a-b.c-d.0", &"a".repeat(253)];
        let bad = [
            "",
            "..",
            "a/b",
            "../../etc/x",
            "A",
            "a_b",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "a b",
            &"a".repeat(254),
        ];
        assert!(good.into_iter().all(is_object_name));
        assert!(!bad.into_iter().any(is_object_name));
    }
}
