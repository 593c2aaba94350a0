//! Keeps service accounts apart if the runtime takes files by namespace and image, as in CRI-O's contract.
//!
//! A pull whose own plugin run provided nothing may take a file that was handed over for another pull. The kubelet
//! would record that pull as one without credentials, and let every Pod on the node use the image from then on. So once
//! a file was handed over for a namespace and an image, no run leaves a file behind for others, and every answer says
//! which service account the pull is for.

use std::time::Instant;

use pullwright_engine::kubelet::{Request, Response};
use pullwright_engine::plan::Delivery;
use pullwright_handover::{AuthFileName, Earlier, Handover};

use crate::answer;
use crate::error::Error;
use crate::outcome::PluginOutcome;
use crate::run::{Env, namespace_of, open_handover, read_claims};

/// The outcome of a run, and the answer to the kubelet.
type RunResult = Result<(PluginOutcome, Response), Error>;

/// Passes on the result of a run. If the run provides no credential, but there was one for the same namespace and image
/// before, this makes sure that the pull finds no file of another pull, and answers that the pull is for this service
/// account.
pub(crate) fn keep(env: &Env<'_>, request: &Request, provided: RunResult, deadline: Instant) -> RunResult {
    let has_one = provided.as_ref().is_ok_and(|(outcome, _)| outcome.provides());
    if has_one || env.options.delivery != Delivery::AuthFile || !env.options.pull_record {
        return provided;
    }
    let Some((handover, name)) = handed_over(env, request) else { return provided };
    let (why, instead_of) = match provided {
        Ok((outcome, _)) => (outcome.to_string(), outcome.reason()),
        Err(error) => {
            // The kubelet ignores the answer of a plugin that fails, so do not fail. The journal has the reason.
            env.report.failed(&error);
            (error.to_string(), error.reason())
        }
    };
    match handover.clear(&name, deadline) {
        Ok(Earlier::Replaced) => {
            env.report.step("Removed the auth file of an earlier pull that did not begin");
        }
        Ok(Earlier::None | Earlier::Taken) => {}
        Err(error) => env.report.passed_over(error),
    }
    Ok((
        PluginOutcome::KeptApart { why, instead_of },
        answer::for_this_account(request.api_version(), request.image(), true),
    ))
}

/// The name of the file that was handed over for this namespace and image, if there ever was one.
fn handed_over(env: &Env<'_>, request: &Request) -> Option<(Handover, AuthFileName)> {
    if !env.options.lock_dir.exists() && !env.options.auth_dir.exists() {
        // The first hand-over creates both, and a reboot removes only the locks. A node that hands nothing over is left
        // alone.
        return None;
    }
    let claims = read_claims(request).ok()?;
    let namespace = namespace_of(claims.as_ref(), env.options)?;
    let name = AuthFileName::new(namespace, request.image()).ok()?;
    let handover = open_handover(env.options).ok()?;
    match handover.was_handed_over(&name) {
        Ok(false) => None,
        Ok(true) => Some((handover, name)),
        Err(error) => {
            // If nobody can tell, count it as handed over: the other answer could open the image to everybody.
            env.report.passed_over(error);
            Some((handover, name))
        }
    }
}
