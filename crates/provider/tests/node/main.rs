//! Pods on a real node whose kubelet runs our plugin. On CRI-O it hands over files, on containerd it answers the kubelet.

mod access;
mod answers;
mod canary;
mod leftovers;
mod many;
mod pulls;
mod registries;
mod secrets;

use std::{env, error::Error, path::Path, process::ExitCode};

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Mirror, Options, Provider, Runtime},
    registry::{Login, Registry},
    scenario::{Case, Scenario, play},
};

type Outcome = Result<(), Box<dyn Error>>;
/// A scenario: what it shows, its namespace, and itself.
type Row = (&'static str, &'static str, fn(&mut Scenario<'_>) -> Outcome);

/// Our plugin.
const PLUGIN: &str = env!("CARGO_BIN_EXE_crio-credential-provider");
/// Who may use all registries.
const SHARED_LOGIN: Login = Login { user: "everywhere", password: "everywherepass" };
/// Who may use the registry `fallback`.
const GLOBAL_LOGIN: Login = Login { user: "globaluser", password: "globalpass" };

const CRIO: &[Row] = &[
    ("a_pod_pulls_with_its_namespaces_secret", "happy", pulls::happy),
    ("a_wrong_secret_fails_with_the_registrys_reason", "wrong", pulls::wrong_secret),
    ("without_a_role_the_kubelet_logs_what_to_do", "no-role", pulls::no_role),
    ("what_the_namespace_lacks_the_global_file_has", "global-merged", pulls::global_file_merged),
    ("without_secrets_the_global_file_serves", "global-alone", pulls::global_file_alone),
    ("without_registries_conf_nothing_is_written", "no-conf", registries::missing),
    ("drop_ins_alone_will_do", "drop-ins", registries::drop_ins_only),
    ("a_prefix_is_rewritten_without_mirrors", "prefix", registries::prefix),
    ("a_mirror_for_digests_serves_digests_only", "digests", registries::digest_only),
    ("a_mirror_for_tags_serves_tags", "tags", registries::tag_only),
    ("a_blocked_source_is_never_contacted", "blocked", registries::never_contact_source),
    ("a_dockercfg_secret_serves", "dockercfg", secrets::dockercfg),
    ("a_secret_without_the_auth_field_serves", "no-auth-field", secrets::username_and_password),
    ("of_two_secrets_for_a_host_the_first_valid_serves", "two-secrets", secrets::two_for_one_host),
    ("named_secrets_need_no_list", "named", secrets::named),
    ("named_secrets_in_an_annotation", "annotated", secrets::annotated),
    ("two_images_of_one_registry_in_one_pod", "two-images", many::two_images),
    ("another_namespace_may_not_run_the_image_afterwards", "private", access::brought_before),
    ("another_namespace_may_not_run_the_image_beforehand", "awaited", access::brought_after),
    ("another_service_account_may_after_its_own_check", "accounts", access::second_service_account),
    ("the_password_is_nowhere_else", "canary", canary::nowhere_else),
    ("after_back_off_nothing_stays", "back-off", leftovers::back_off),
    ("after_deletion_nothing_stays", "deleted", leftovers::deleted_pods),
    ("a_plugin_killed_at_any_moment_leaves_nothing", "killed-plugin", leftovers::killed_plugin),
    ("a_runtime_killed_in_a_pull_leaves_nothing", "killed-runtime", leftovers::killed_runtime),
    ("fifty_pods_without_a_limit", "fifty", many::fifty_without_limit),
    ("fifty_pods_with_the_kubelets_limit", "fifty-limited", many::fifty_with_limit),
];

const CONTAINERD: &[Row] = &[
    ("a_credential_for_every_host_is_answered", "same-login", answers::same_login),
    ("a_credential_for_some_hosts_is_withheld", "withheld", answers::withheld),
    ("a_blocked_source_may_be_contacted_all_the_same", "blocked", answers::blocked),
    ("the_dangerous_flag_answers_all_the_same", "every-host", answers::every_host),
];

/// A source that only readers of `registries.conf` know to be blocked.
const BLOCKED: &str = "
[[registry]]
location = \"blocked.test\"
blocked = true
[[registry.mirror]]
location = \"127.0.0.1:5000\"
";

/// Played only when asked for by name: it takes ten minutes and shows figures.
const BESIDE: Row = ("go_plugin_beside_ours", "beside", many::beside_the_go_plugin);

fn main() -> ExitCode {
    let beside = env::args().any(|word| word == BESIDE.0).then_some(&BESIDE);
    let case = |runtimes| move |&(name, namespace, play): &Row| Case { name, namespace, runtimes, play };
    let crio = CRIO.iter().chain(beside).map(case(&[Runtime::Crio]));
    let cases: Vec<Case> = crio.chain(CONTAINERD.iter().map(case(&[Runtime::Containerd]))).collect();
    play(&cases, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        Ok(match runtime {
            Runtime::Crio => crio_node(),
            Runtime::Containerd => containerd_node(),
        })
    })
}

fn crio_node() -> Options {
    let mut options = node(Runtime::Crio);
    options.providers = vec![
        Provider {
            images: &["docker.io", "*.test", "127.0.0.1:5001"],
            // Short enough to be waited for, and longer than any pull here takes.
            args: &["--remove-unclaimed-after=10", "--remove-in-use-after=20"],
            ..Provider::new(Path::new(PLUGIN))
        },
        Provider {
            name: "with-named-secrets",
            images: &["by.name.test"],
            args: &["--secrets=named"],
            annotations: &["pullwright.dev/pull-secrets"],
            ..Provider::new(Path::new(PLUGIN))
        },
    ];
    options.mirrors.extend([
        Mirror { source: "both.test", registry: "mirror" },
        Mirror { source: "both.test", registry: "fallback" },
        Mirror { source: "by.name.test", registry: "mirror" },
    ]);
    include_str!("registries.conf").clone_into(&mut options.registries_conf);
    options
}

fn containerd_node() -> Options {
    let mut options = node(Runtime::Containerd);
    options.providers = vec![
        Provider {
            name: "with-answers",
            images: &["127.0.0.1:5001", "withheld.test", "blocked.test"],
            args: &["--deliver=answer"],
            ..Provider::new(Path::new(PLUGIN))
        },
        Provider {
            name: "with-dangerous-answers",
            images: &["dangerous.test"],
            args: &["--deliver=answer", "--answer-credentials-to-every-host-of-the-pull"],
            ..Provider::new(Path::new(PLUGIN))
        },
    ];
    options.mirrors = ["127.0.0.1:5001", "withheld.test", "dangerous.test"]
        .map(|source| Mirror { source, registry: "mirror" })
        .to_vec();
    BLOCKED.clone_into(&mut options.registries_conf);
    options
}

fn node(runtime: Runtime) -> Options {
    let mut options = Options::new(runtime, Path::new(PLUGIN));
    let registry = |name, port, login, tls| Registry { name, port, logins: vec![login, SHARED_LOGIN], tls };
    options.registries = vec![
        Registry {
            logins: vec![MIRROR_LOGIN, SHARED_LOGIN, canary::LOGIN],
            ..registry("mirror", 5000, MIRROR_LOGIN, false)
        },
        registry("source", 5001, SHARED_LOGIN, true),
        registry("fallback", 5002, GLOBAL_LOGIN, false),
    ];
    // The kubelet's own limit fails pulls for a reason that is not the plugin's.
    many::WITHOUT_LIMIT.clone_into(&mut options.kubelet);
    options
}

/// Whether a registry served `repository` to somebody it knew, since the scenario began.
fn served(scenario: &Scenario<'_>, registry: &str, repository: &str) -> Result<bool, Box<dyn Error>> {
    let repository = format!("vars.name={repository}");
    let words = ["authorized request", "method=GET", repository.as_str()];
    let log = scenario.registry_log(registry)?;
    Ok(log.iter().any(|line| words.iter().all(|word| line.contains(word))))
}
