//! Pods on a real node whose kubelet runs our plugin. It hands files over to CRI-O, or to our image service in front of
//! containerd; on containerd alone it answers the kubelet.

mod access;
mod answers;
mod apart;
mod canary;
mod hosts;
mod interrupted;
mod leftovers;
mod many;
mod mirror_sets;
mod pulls;
mod registries;
mod secrets;
mod short_names;

use std::{env, error::Error, path::Path, process::ExitCode};

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Mirror, Options, Provider, Runtime},
    registry::{Login, Registry},
    scenario::{Case, Scenario, play},
};

type Outcome = Result<(), Box<dyn Error>>;
/// A scenario: what it shows, its namespace, where it is played, and itself.
type Row = (&'static str, &'static str, &'static [Runtime], fn(&mut Scenario<'_>) -> Outcome);

/// Our plugin.
const PLUGIN: &str = env!("CARGO_BIN_EXE_crio-credential-provider");
/// Who may use all registries but `hub`.
const SHARED_LOGIN: Login = Login { user: "everywhere", password: "everywherepass" };
/// Who may use the registry `fallback`.
const GLOBAL_LOGIN: Login = Login { user: "globaluser", password: "globalpass" };
/// Who may use the registry `hub`: nobody here.
const HUB_LOGIN: Login = Login { user: "hubuser", password: "hubpass" };

/// Where files are handed over.
const HANDED: &[Runtime] = &[Runtime::ContainerdWithImages, Runtime::Crio];
const IMAGES: &[Runtime] = &[Runtime::ContainerdWithImages];
const CRIO: &[Runtime] = &[Runtime::Crio];
/// Where the kubelet is answered.
const ANSWERED: &[Runtime] = &[Runtime::Containerd];

const ROWS: &[Row] = &[
    ("a_pod_pulls_with_its_namespaces_secret", "happy", HANDED, pulls::happy),
    ("the_sample_of_the_documentation_runs", "default", HANDED, pulls::sample_as_documented),
    ("a_wrong_secret_fails_with_the_registrys_reason", "wrong", HANDED, pulls::wrong_secret),
    ("without_a_role_the_kubelet_logs_what_to_do", "no-role", HANDED, pulls::no_role),
    ("what_the_namespace_lacks_the_global_file_has", "global-merged", HANDED, pulls::global_file_merged),
    ("without_secrets_the_global_file_serves", "global-alone", HANDED, pulls::global_file_alone),
    ("a_pods_own_pull_secret_serves", "pull-secret", HANDED, pulls::own_pull_secret),
    ("without_registries_conf_nothing_is_written", "no-conf", HANDED, registries::missing),
    ("drop_ins_alone_will_do", "drop-ins", HANDED, registries::drop_ins_only),
    ("a_prefix_is_rewritten_without_mirrors", "prefix", HANDED, registries::prefix),
    ("a_prefix_with_a_path_is_rewritten_by_crio_only", "path", HANDED, registries::prefix_with_path),
    ("a_mirror_for_digests_serves_digests_only", "digests", HANDED, registries::digest_only),
    ("a_mirror_for_tags_serves_tags", "tags", HANDED, registries::tag_only),
    ("a_blocked_source_is_never_contacted", "blocked", HANDED, registries::never_contact_source),
    ("a_digest_set_serves_digests", "set-digest", HANDED, mirror_sets::by_digest),
    (
        "a_tag_set_serves_tags_though_containerd_asks_digest_mirrors_too",
        "set-tag",
        HANDED,
        mirror_sets::by_tag,
    ),
    ("a_set_keeps_the_source_from_being_asked", "set-never", HANDED, mirror_sets::never_contact_source),
    ("a_set_gives_the_order_of_mirrors", "set-order", HANDED, mirror_sets::fall_back_order),
    (
        "a_short_name_with_several_candidates_is_refused_unless_crio_is_told",
        "short",
        CRIO,
        short_names::ambiguous,
    ),
    ("a_dockercfg_secret_serves", "dockercfg", HANDED, secrets::dockercfg),
    ("a_secret_without_the_auth_field_serves", "no-auth-field", HANDED, secrets::username_and_password),
    ("of_two_secrets_for_a_host_the_first_valid_serves", "two-secrets", HANDED, secrets::two_for_one_host),
    ("named_secrets_need_no_list", "named", HANDED, secrets::named),
    ("named_secrets_in_an_annotation", "annotated", HANDED, secrets::annotated),
    ("two_images_of_one_registry_in_one_pod", "two-images", HANDED, many::two_images),
    ("with_the_first_mirror_down_the_second_serves", "first-down", HANDED, hosts::first_down),
    ("with_the_first_login_wrong_the_second_mirror_serves", "first-wrong", HANDED, hosts::first_wrong),
    ("the_last_resort_is_shown_no_credential", "last-resort", HANDED, hosts::last_resort),
    ("another_namespace_may_not_run_the_image_afterwards", "private", HANDED, access::brought_before),
    ("another_namespace_may_not_run_the_image_beforehand", "awaited", HANDED, access::brought_after),
    ("another_service_account_may_after_its_own_check", "accounts", HANDED, access::second_service_account),
    ("a_leftover_opens_nothing_to_another_account", "leftover", HANDED, apart::leftover),
    ("nor_with_named_secrets", "leftover-named", HANDED, apart::leftover_with_named_secrets),
    ("nor_without_the_api_server", "leftover-alone", HANDED, apart::leftover_without_the_api_server),
    ("accounts_that_pull_at_the_same_moment_are_apart", "same-moment", HANDED, apart::at_the_same_moment),
    ("the_password_is_nowhere_else", "canary", HANDED, canary::nowhere_else),
    ("after_back_off_nothing_stays", "back-off", HANDED, leftovers::back_off),
    ("after_deletion_nothing_stays", "deleted", HANDED, leftovers::deleted_pods),
    ("a_pull_that_the_kubelet_breaks_off_is_cancelled", "cancelled", HANDED, interrupted::cancelled),
    ("a_taker_killed_in_a_pull_leaves_nothing", "killed-taker", HANDED, interrupted::killed_taker),
    ("containerd_killed_under_load_hangs_no_pull", "load", IMAGES, interrupted::killed_under_load),
    ("fifty_pods_beside_what_killed_plugins_left", "fifty", HANDED, many::fifty_beside_killed_plugins),
    ("a_hundred_pods_at_once", "hundred", HANDED, many::hundred),
    ("fifty_pods_with_the_kubelets_limit", "fifty-limited", HANDED, many::fifty_with_limit),
    // The last, so that it has seen them all.
    ("no_registry_was_ever_shown_anothers_credential", "shown", HANDED, hosts::shown_in_all_scenarios),
    ("a_credential_for_every_host_is_answered", "same-login", ANSWERED, answers::same_login),
    ("a_credential_for_some_hosts_is_withheld", "withheld", ANSWERED, answers::withheld),
    ("a_blocked_source_may_be_contacted_all_the_same", "blocked", ANSWERED, answers::blocked),
    ("the_dangerous_flag_answers_all_the_same", "every-host", ANSWERED, answers::every_host),
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
const BESIDE: Row = ("go_plugin_beside_ours", "beside", CRIO, many::beside_the_go_plugin);

fn main() -> ExitCode {
    let beside = env::args().any(|word| word == BESIDE.0).then_some(&BESIDE);
    let case = |&(name, namespace, runtimes, play): &Row| Case { name, namespace, runtimes, play };
    let cases: Vec<Case> = ROWS.iter().chain(beside).map(case).collect();
    play(&cases, Path::new(env!("CARGO_TARGET_TMPDIR")), |runtime| {
        Ok(match runtime {
            Runtime::Crio | Runtime::ContainerdWithImages => handing_over(runtime),
            Runtime::Containerd => answering(),
        })
    })
}

/// A node whose plugin hands files over.
fn handing_over(runtime: Runtime) -> Options {
    let mut options = node(runtime);
    options.providers = vec![
        Provider {
            images: &["docker.io", "*.test", "127.0.0.1:5001", "localhost:5001", "node-a:5001"],
            args: handing_over_args(runtime),
            ..Provider::new(Path::new(PLUGIN))
        },
        Provider {
            name: "with-named-secrets",
            images: &["by.name.test"],
            args: match runtime {
                Runtime::ContainerdWithImages => &["--secrets=named", "--deliver=ticket"],
                _ => &["--secrets=named"],
            },
            annotations: &["pullwright.dev/pull-secrets"],
            ..Provider::new(Path::new(PLUGIN))
        },
    ];
    let mirror = |source, registry| Mirror { source, registry };
    options.mirrors = vec![
        mirror("docker.io", "mirror"),
        mirror("docker.io", "fallback"),
        mirror("both.test", "mirror"),
        mirror("both.test", "fallback"),
        mirror("by.name.test", "mirror"),
    ];
    include_str!("registries.conf").clone_into(&mut options.registries_conf);
    options
}

/// Bounds that are short enough to be waited for, and longer than any pull here takes; that on files without a ticket is the
/// usual one.
fn handing_over_args(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::ContainerdWithImages => {
            &["--deliver=ticket", "--remove-tickets-after=10", "--remove-in-use-after=20"]
        }
        _ => &["--remove-in-use-after=20"],
    }
}

/// A node whose plugin answers the kubelet.
fn answering() -> Options {
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
    let registry = |name, port, logins: &[Login], tls| Registry { name, port, logins: logins.to_vec(), tls };
    options.registries = vec![
        registry("mirror", 5000, &[MIRROR_LOGIN, SHARED_LOGIN, canary::LOGIN], false),
        registry("source", 5001, &[SHARED_LOGIN], true),
        registry("fallback", 5002, &[GLOBAL_LOGIN, SHARED_LOGIN], false),
        // Where docker.io leads to on this node.
        registry("hub", 443, &[HUB_LOGIN], true),
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
