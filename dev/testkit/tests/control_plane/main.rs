//! A control plane from nothing: what the tests of other crates rely on.

mod access;
mod audit;
mod cable;
mod history;
mod many;
mod openshift;
mod process;

use std::{error::Error, fs, path::PathBuf};

use pullwright_testkit::ControlPlane;

/// A folder of this test's own, below cargo's folder for tests.
fn folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

#[test]
fn the_api_keeps_what_is_applied_and_two_control_planes_do_not_mix() -> Result<(), Box<dyn Error>> {
    let (first, second) = (ControlPlane::start(&folder("first")?)?, ControlPlane::start(&folder("second")?)?);
    println!("control plane ready after {:.1} s", first.started_in().as_secs_f64());
    first.kubectl().apply("{apiVersion: v1, kind: Namespace, metadata: {name: only-in-the-first}}")?;
    let namespace = first.kubectl().json(&["get", "namespace", "only-in-the-first"])?;
    assert_eq!(namespace["status"]["phase"], "Active");
    let error = second.kubectl().run(&["get", "namespace", "only-in-the-first"]).unwrap_err().to_string();
    assert!(error.contains("not found"), "{error}");
    Ok(())
}

#[test]
fn controllers_make_service_accounts_whose_tokens_the_api_knows() -> Result<(), Box<dyn Error>> {
    let mut plane = ControlPlane::start(&folder("controllers")?)?;
    plane.start_controller_manager()?;
    let token = plane.kubectl().run(&["create", "token", "default"])?;
    // Without the kubeconfig, whose certificate would come before the token.
    let (server, ca) = (plane.server(), plane.ca().display().to_string());
    let with_token =
        ["--kubeconfig", "/dev/null", "--server", &server, "--certificate-authority", &ca, "--token"];
    let whoami = plane.kubectl().json(&[&with_token[..], &[token.trim(), "auth", "whoami"]].concat())?;
    assert_eq!(whoami["status"]["userInfo"]["username"], "system:serviceaccount:default:default");
    Ok(())
}
