//! Which files make up the configuration: the table of the Go loader's own tests, on real folders.

use std::fs;
use std::path::{Path, PathBuf};

use pullwright_engine::registries::LoaderEnv;
use pullwright_nodefiles::NodeRoot;

const USR: &str = "/usr/share/containers";
const ETC: &str = "/etc/containers";
const HOME: &str = "/home/user/.config/containers";

/// What a case changes of the plain environment.
type Adjust = fn(&mut LoaderEnv);

/// The files that are read, in order, or the error.
fn read(files: &[&str], adjust: Adjust) -> Result<Vec<String>, String> {
    let node = tempfile::tempdir().unwrap();
    for path in files {
        let path = node.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let mut env = LoaderEnv { home: Some("/home/user".into()), uid: 0, ..LoaderEnv::default() };
    adjust(&mut env);
    let loaded = NodeRoot::at(node.path()).unwrap().registries(&env).map_err(|error| error.to_string())?;
    Ok(loaded.files().iter().map(|path| path.display().to_string()).collect())
}

fn at(folder: &str, name: &str) -> String {
    format!("{folder}/{name}")
}

#[track_caller]
fn assert_order(files: &[String], adjust: Adjust, order: &[&str]) {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let order: Vec<String> = order.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(read(&files, adjust), Ok(order));
}

const PLAIN: Adjust = |_| {};
const MAIN: &str = "registries.conf";

#[test]
fn one_main_file_the_user_s_before_the_admin_s_before_the_vendor_s() {
    assert_order(&[], PLAIN, &[]);
    assert_order(&[at(USR, MAIN)], PLAIN, &[&at(USR, MAIN)]);
    assert_order(&[at(USR, MAIN), at(ETC, MAIN)], PLAIN, &[&at(ETC, MAIN)]);
    assert_order(&[at(USR, MAIN), at(ETC, MAIN), at(HOME, MAIN)], PLAIN, &[&at(HOME, MAIN)]);
}

#[test]
fn drop_ins_of_all_folders_in_the_order_of_their_names() {
    let d = |folder: &str, name: &str| format!("{folder}/registries.conf.d/{name}.conf");
    assert_order(&[d(USR, "10")], PLAIN, &[&d(USR, "10")]);
    assert_order(&[at(ETC, MAIN), d(USR, "10")], PLAIN, &[&at(ETC, MAIN), &d(USR, "10")]);
    assert_order(
        &[d(USR, "20"), d(USR, "40"), d(ETC, "10"), d(HOME, "30")],
        PLAIN,
        &[&d(ETC, "10"), &d(USR, "20"), &d(HOME, "30"), &d(USR, "40")],
    );
}

#[test]
fn the_more_specific_folder_wins_a_name() {
    let d = |folder: &str, name: &str| format!("{folder}/registries.conf.d/{name}.conf");
    assert_order(&[d(USR, "10"), d(USR, "20"), d(ETC, "10")], PLAIN, &[&d(ETC, "10"), &d(USR, "20")]);
}

#[test]
fn only_names_that_end_in_conf_count() {
    let d = |name: &str| format!("{USR}/registries.conf.d/{name}");
    assert_order(
        &[d("10-valid.conf"), d("README.md"), d("backup.conf~"), d("sub.conf/x")],
        PLAIN,
        &[&d("10-valid.conf")],
    );
}

#[test]
fn root_and_users_have_folders_of_their_own() {
    let rootless: Adjust = |env| env.uid = 1000;
    let all = at(USR, "registries.conf.d/01.conf");
    let user = at(USR, "registries.rootless.conf.d/02-user.conf");
    let root = at(USR, "registries.rootful.conf.d/02-root.conf");
    let files = [all.clone(), user.clone(), root.clone()];
    assert_order(&files, rootless, &[&all, &user]);
    assert_order(&files, PLAIN, &[&all, &root]);
    let mine = at(USR, "registries.rootless.conf.d/1000/settings.conf");
    let other = at(USR, "registries.rootless.conf.d/99/settings.conf");
    assert_order(&[mine.clone(), other], rootless, &[&mine]);
}

#[test]
fn environment_variables_replace_and_add() {
    let drop_in = at(USR, "registries.conf.d/01.conf");
    let files = [at(USR, MAIN), drop_in.clone(), "/env.conf".into(), "/override.conf".into()];
    let main: Adjust = |env| env.env_conf = Some("/env.conf".into());
    let extra: Adjust = |env| env.env_override = Some("/override.conf".into());
    let both: Adjust = |env| {
        env.env_conf = Some("/env.conf".into());
        env.env_override = Some("/override.conf".into());
    };
    assert_order(&files, main, &["/env.conf"]);
    assert_order(&files, extra, &[&at(USR, MAIN), &drop_in, "/override.conf"]);
    assert_order(&files, both, &["/env.conf", "/override.conf"]);
    for adjust in [main, extra] {
        let error = read(&[], adjust).unwrap_err();
        assert!(error.ends_with("No such file or directory (os error 2)"), "{error}");
    }
}

#[test]
fn what_the_caller_names_comes_before_the_environment() {
    let drop_in = at(USR, "registries.conf.d/10.conf");
    let files = [drop_in.clone(), at(USR, MAIN), "/mine.conf".into(), "/env.conf".into()];
    assert_order(&files, |env| env.conf = Some("/mine.conf".into()), &["/mine.conf", &drop_in]);
    assert!(read(&[], |env| env.conf = Some("/mine.conf".into())).is_err());
    let with_env: Adjust = |env| {
        env.conf = Some("/mine.conf".into());
        env.env_conf = Some("/env.conf".into());
    };
    assert_order(&files, with_env, &["/mine.conf", &drop_in]);
    let folder: Adjust = |env| env.conf_dir = Some("/dir".into());
    let with_dir = [at(USR, MAIN), drop_in, "/dir/file.conf".into(), "/dir/somefile".into()];
    assert_order(&with_dir, folder, &[&at(USR, MAIN), "/dir/file.conf"]);
    assert_order(&[at(USR, MAIN)], folder, &[&at(USR, MAIN)]);
}

#[test]
fn the_variables_of_a_process_are_read_by_name() {
    let vars = |name: &str| match name {
        "CONTAINERS_REGISTRIES_CONF" => Some("".into()),
        "CONTAINERS_REGISTRIES_CONF_OVERRIDE" => Some("/o.conf".into()),
        "XDG_CONFIG_HOME" => Some("/xdg".into()),
        "_CONTAINERS_ROOTLESS_UID" => Some("7".into()),
        _ => None,
    };
    let env = LoaderEnv::from_vars(vars, 0);
    assert_eq!((env.env_conf, env.env_override.as_deref(), env.uid), (None, Some(Path::new("/o.conf")), 7));
    assert_eq!(env.xdg_config_home, Some(PathBuf::from("/xdg")));
}
