//! Who may read the pull secrets of a namespace: one Role and one `RoleBinding`, from the command line or from what a namespace
//! says about itself.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pullwright_engine::kubelet::{Namespace, NotANamespace};

use crate::names::{
    DEFAULT_SERVICE_ACCOUNT, PULL_ACCESS, PULL_ACCESS_LIST, PULL_ACCESS_NAMED, PULL_SECRETS,
    SERVICE_ACCOUNTS, is_object_name,
};

/// The name of the Role and of the `RoleBinding`.
pub const NAME: &str = "pullwright-pull-secrets";

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// How many characters of a wrong value an error shows: annotations may have 256 KiB.
const SHOWN: usize = 64;

/// Which service accounts of a namespace may read which of its Secrets. All names are names that the API accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullAccess {
    namespace: Namespace,
    secrets: PullSecrets,
    service_accounts: BTreeSet<String>,
}

/// Which Secrets may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullSecrets {
    /// All of the namespace, for a plugin that runs with `--secrets list`.
    All,
    /// Those with these names, for a plugin that runs with `--secrets named`.
    Named(BTreeSet<String>),
}

/// Why there is no such access.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The namespace has no name that the API accepts.
    #[error(transparent)]
    Namespace(#[from] NotANamespace),
    /// A name that the API does not accept.
    #[error(
        "{name:?} is not the name of a {kind}: use lower case letters, digits, '-' and '.'; begin and end with a letter or digit"
    )]
    Name {
        /// What should have the name.
        kind: &'static str,
        /// The name, cut to a readable length.
        name: String,
    },
    /// No Secret is named.
    #[error("no Secret is named: add their names to the annotation {PULL_SECRETS}, separated by commas")]
    NoSecret,
    /// No service account is named.
    #[error(
        "no service account is named: name one, or remove the annotation {SERVICE_ACCOUNTS} to mean {DEFAULT_SERVICE_ACCOUNT:?}"
    )]
    NoServiceAccount,
    /// The label has another value.
    #[error("the label {PULL_ACCESS} is {value:?}: use {PULL_ACCESS_NAMED:?} or {PULL_ACCESS_LIST:?}")]
    Label {
        /// Which, cut to a readable length.
        value: String,
    },
    /// The label asks for all Secrets, and the annotation for some.
    #[error(
        "the label {PULL_ACCESS} is {PULL_ACCESS_LIST:?}, which means all Secrets, but the annotation {PULL_SECRETS} names some: \
         set the label to {PULL_ACCESS_NAMED:?}, or remove the annotation"
    )]
    Contradiction,
}

impl PullAccess {
    /// Access for these service accounts.
    ///
    /// # Errors
    /// If a name is one that the API does not accept, or if nothing or nobody is named.
    pub fn new(
        namespace: Namespace,
        secrets: PullSecrets,
        service_accounts: BTreeSet<String>,
    ) -> Result<Self, AccessError> {
        if let PullSecrets::Named(names) = &secrets {
            check("Secret", names, AccessError::NoSecret)?;
        }
        check("service account", &service_accounts, AccessError::NoServiceAccount)?;
        Ok(Self { namespace, secrets, service_accounts })
    }

    /// The access that a namespace asks for with the label [`PULL_ACCESS`]; `None` if it asks for none.
    ///
    /// # Errors
    /// If label and annotations say something that cannot be granted, or contradict each other.
    pub fn asked_for(namespace: &core::Namespace) -> Result<Option<Self>, AccessError> {
        let value = |map: &Option<BTreeMap<String, String>>, key| map.as_ref()?.get(key).cloned();
        let annotation = |key| value(&namespace.metadata.annotations, key);
        let Some(label) = value(&namespace.metadata.labels, PULL_ACCESS) else { return Ok(None) };
        let secrets = match (label.as_str(), annotation(PULL_SECRETS)) {
            (PULL_ACCESS_LIST, None) => PullSecrets::All,
            (PULL_ACCESS_LIST, Some(_)) => return Err(AccessError::Contradiction),
            (PULL_ACCESS_NAMED, names) => PullSecrets::Named(split(&names.unwrap_or_default())),
            _ => return Err(AccessError::Label { value: shown(&label) }),
        };
        let accounts = annotation(SERVICE_ACCOUNTS);
        let accounts = split(accounts.as_deref().unwrap_or(DEFAULT_SERVICE_ACCOUNT));
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        Self::new(name.parse()?, secrets, accounts).map(Some)
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Which Secrets may be read.
    #[must_use]
    pub fn secrets(&self) -> &PullSecrets {
        &self.secrets
    }

    /// The service accounts that may read them.
    #[must_use]
    pub fn service_accounts(&self) -> &BTreeSet<String> {
        &self.service_accounts
    }

    /// The Role: `list` on all Secrets, or `get` on those with the names, and nothing else.
    #[must_use]
    pub fn role(&self) -> Role {
        let (verb, resource_names) = match &self.secrets {
            PullSecrets::All => ("list", None),
            PullSecrets::Named(names) => ("get", Some(names.iter().cloned().collect())),
        };
        let rule = PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["secrets".to_owned()]),
            resource_names,
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        };
        Role { metadata: self.metadata(), rules: Some(vec![rule]) }
    }

    /// The `RoleBinding` of that Role to the service accounts.
    #[must_use]
    pub fn role_binding(&self) -> RoleBinding {
        let subject = |name: &String| Subject {
            kind: "ServiceAccount".to_owned(),
            name: name.clone(),
            namespace: Some(self.namespace.to_string()),
            api_group: None,
        };
        RoleBinding {
            metadata: self.metadata(),
            role_ref: RoleRef {
                api_group: RBAC_GROUP.to_owned(),
                kind: "Role".to_owned(),
                name: NAME.to_owned(),
            },
            subjects: Some(self.service_accounts.iter().map(subject).collect()),
        }
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(self.namespace.to_string()),
            ..ObjectMeta::default()
        }
    }
}

fn check(kind: &'static str, names: &BTreeSet<String>, none: AccessError) -> Result<(), AccessError> {
    if names.is_empty() {
        return Err(none);
    }
    match names.iter().find(|name| !is_object_name(name)) {
        Some(wrong) => Err(AccessError::Name { kind, name: shown(wrong) }),
        None => Ok(()),
    }
}

/// The names in an annotation, as the plugin reads them.
fn split(names: &str) -> BTreeSet<String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(label: Option<&str>, annotations: &[(&str, &str)]) -> core::Namespace {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let mut namespace = core::Namespace::default();
        namespace.metadata.name = Some("app".to_owned());
        namespace.metadata.labels = label.map(|label| [owned((PULL_ACCESS, label))].into());
        namespace.metadata.annotations = Some(annotations.iter().copied().map(owned).collect());
        namespace
    }

    fn asked(label: &str, annotations: &[(&str, &str)]) -> Result<PullAccess, AccessError> {
        PullAccess::asked_for(&namespace(Some(label), annotations)).map(Option::unwrap)
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_namespace_without_the_label_asks_for_nothing() {
        assert_eq!(PullAccess::asked_for(&namespace(None, &[(PULL_SECRETS, "a")])), Ok(None));
        assert_eq!(PullAccess::asked_for(&core::Namespace::default()), Ok(None));
    }

    #[test]
    fn a_namespace_says_which_secrets_and_who() {
        let access = asked("list", &[]).unwrap();
        assert_eq!((access.namespace().as_str(), access.secrets()), ("app", &PullSecrets::All));
        assert_eq!(access.service_accounts(), &set(&["default"]));

        let annotations = [(PULL_SECRETS, " b, a,,b ,"), (SERVICE_ACCOUNTS, "builder,default")];
        let access = asked("named", &annotations).unwrap();
        assert_eq!(access.secrets(), &PullSecrets::Named(set(&["a", "b"])));
        assert_eq!(access.service_accounts(), &set(&["builder", "default"]));
    }

    #[test]
    fn what_cannot_be_granted_says_what_to_do() {
        let wrong_name = |kind, name: &str| AccessError::Name { kind, name: name.to_owned() };
        let long = "x".repeat(1 << 16);
        for (label, annotations, error) in [
            ("all", vec![], AccessError::Label { value: "all".to_owned() }),
            ("", vec![], AccessError::Label { value: String::new() }),
            ("named", vec![], AccessError::NoSecret),
            ("named", vec![(PULL_SECRETS, " , ")], AccessError::NoSecret),
            ("named", vec![(PULL_SECRETS, "a,*")], wrong_name("Secret", "*")),
            ("named", vec![(PULL_SECRETS, &long)], wrong_name("Secret", &"x".repeat(64))),
            ("list", vec![(PULL_SECRETS, "a")], AccessError::Contradiction),
            ("list", vec![(SERVICE_ACCOUNTS, "")], AccessError::NoServiceAccount),
            ("list", vec![(SERVICE_ACCOUNTS, "system:x")], wrong_name("service account", "system:x")),
        ] {
            assert_eq!(asked(label, &annotations), Err(error), "{label} {annotations:.80?}");
        }
    }

    #[test]
    fn named_secrets_are_the_only_ones_that_the_role_grants() {
        let access = asked("named", &[(PULL_SECRETS, "b,a")]).unwrap();
        let rules = serde_json::to_value(access.role().rules).unwrap();
        let rule = serde_json::json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"]});
        assert_eq!(rules, serde_json::json!([rule]));
    }
}
