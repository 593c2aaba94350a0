//! Names that several programs must spell alike: labels, annotations, and the operator's own.

/// The name of the operator: its service account, its Lease, its field manager, and the value of [`MANAGED_BY`].
pub const OPERATOR: &str = "pullwright-operator";

/// The namespace that the operator runs in.
pub const OPERATOR_NAMESPACE: &str = "pullwright-system";

/// The label of every object that the operator writes. Its value is [`OPERATOR`]; an object without it belongs to someone else.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The label of a namespace whose Role and RoleBinding the operator writes: [`PULL_ACCESS_LIST`] or [`PULL_ACCESS_NAMED`].
pub const PULL_ACCESS: &str = "pullwright.dev/pull-access";

/// The value of [`PULL_ACCESS`] for a plugin that runs with `--secrets list`.
pub const PULL_ACCESS_LIST: &str = "list";

/// The value of [`PULL_ACCESS`] for a plugin that runs with `--secrets named`.
pub const PULL_ACCESS_NAMED: &str = "named";

/// The annotation with names of Secrets, separated by commas. The plugin reads it from a ServiceAccount, the operator from a
/// namespace.
pub const PULL_SECRETS: &str = "pullwright.dev/pull-secrets";

/// The annotation of a namespace with the names of the ServiceAccounts that may read its pull secrets, separated by commas.
/// Without it, this is `default`.
pub const SERVICE_ACCOUNTS: &str = "pullwright.dev/service-accounts";
