//! Tests of the command line and the environment.

use super::*;

fn options(arguments: &[&str]) -> Result<Options, String> {
    match parse(arguments.iter().map(OsString::from), &|_| None) {
        Ok(Command::Provide(options)) => Ok(options),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn without_options_the_paths_are_those_of_the_go_plugin() {
    let options = options(&[]).unwrap();
    assert_eq!(options.auth_dir, PathBuf::from("/etc/crio/auth"));
    assert_eq!(options.global_auth_file, PathBuf::from("/var/lib/kubelet/config.json"));
    assert_eq!(options, Options::default());
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let var = |name: &str| match name {
        "CRIO_CREDENTIAL_PROVIDER_AUTH_DIR" => Some("/env".into()),
        "CRIO_CREDENTIAL_PROVIDER_LOCK_DIR" => Some("/env-locks".into()),
        "CRIO_CREDENTIAL_PROVIDER_NO_PULL_RECORD" => Some("1".into()),
        _ => None,
    };
    let Command::Provide(options) = parse(["--auth-dir=/flag".into()], &var).unwrap() else { panic!() };
    assert_eq!((options.auth_dir, options.lock_dir), ("/flag".into(), "/env-locks".into()));
    assert!(!options.pull_record);
}

#[test]
fn a_switch_in_the_environment_is_on_or_off_and_nothing_else() {
    let set = |value: &str| {
        let value = OsString::from(value);
        let name = "CRIO_CREDENTIAL_PROVIDER_PROXY_FROM_ENVIRONMENT";
        match parse([], &move |asked| (asked == name).then(|| value.clone())) {
            Ok(Command::Provide(options)) => Ok(options.proxy_from_environment),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!((set("1"), set("no"), set("")), (Ok(true), Ok(false), Ok(false)));
    let said = "CRIO_CREDENTIAL_PROVIDER_PROXY_FROM_ENVIRONMENT does not take \"off\": use true or false";
    assert_eq!(set("off"), Err(said.to_owned()));
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    for (arguments, said) in [
        (&["--server", "http://a"][..], "--server does not take \"http://a\": use an https:// URL"),
        (&["--api-timeout", "60"], "--api-timeout does not take \"60\": use 1 to 19 seconds"),
        (
            &["--remove-unclaimed-after", "0"],
            "--remove-unclaimed-after does not take \"0\": use 1 to 86400 seconds",
        ),
        (&["--deliver", "pigeon"], "--deliver does not take \"pigeon\": use file, ticket or answer"),
        (
            &["--answer-credentials-to-every-host-of-the-pull"],
            "--answer-credentials-to-every-host-of-the-pull needs --deliver answer",
        ),
        (
            &["--namespace-without-token", "kube-system"],
            "--namespace-without-token needs --secrets-folder: without a token no Secret can be asked for",
        ),
        (&["--bogus"], "invalid option '--bogus'"),
        (&["--request", "r"], "--request needs the sub-command check"),
        (&["--namespace", "team-a"], "--namespace needs the sub-command check"),
        (&["check", "sweep"], "unexpected argument \"sweep\""),
    ] {
        assert_eq!(options(arguments), Err(said.to_owned()));
    }
}

#[test]
fn the_sweeper_is_told_the_same_folders_and_bounds() {
    let bounds = ["--remove-unclaimed-after", "20", "--remove-in-use-after", "50"];
    let mine = options(&[&["--auth-dir", "/a", "--lock-dir", "/l"][..], &bounds].concat()).unwrap();
    let Command::Sweep(swept) = parse(mine.sweep_arguments(), &|_| None).unwrap() else { panic!() };
    assert_ne!(mine.bounds, Bounds::default());
    assert_eq!((swept.auth_dir, swept.lock_dir, swept.bounds), (mine.auth_dir, mine.lock_dir, mine.bounds));
}

#[test]
fn the_documentation_has_the_table_of_options() {
    let page = include_str!("../../../../docs/plugin.md");
    assert!(page.contains(&PROGRAM.markdown()), "docs/plugin.md needs this table:\n{}", PROGRAM.markdown());
}
