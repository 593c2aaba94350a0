//! Keeps service accounts apart where the runtime takes files by namespace and image: CRI-O's contract.
//!
//! A file that was handed over may be taken by a pull whose own run of the plugin came to nothing. The kubelet would record
//! that pull as one without credentials, and let every Pod on the node use the image from then on. So once a file was
//! handed over for a namespace and an image, no run leaves one behind for others, and every answer says whose pull it is.

use std::time::Instant;

use pullwright_engine::kubelet::{Request, Response};
use pullwright_engine::plan::Delivery;
use pullwright_handover::{AuthFileName, Earlier, Handover};

use crate::answer;
use crate::error::Error;
use crate::outcome::PluginOutcome;
use crate::run::{Env, namespace_of, open_handover, read_claims};

/// What a run came to, and the answer to the kubelet.
type RunResult = Result<(PluginOutcome, Response), Error>;

/// Passes on what a run came to; if that is no credential, and there was one for the same namespace and image before, sees to
/// it that the pull finds none of another's, and answers that it is this service account's.
pub(crate) fn keep(env: &Env<'_>, request: &Request, provided: RunResult, deadline: Instant) -> RunResult {
    let has_one = provided.as_ref().is_ok_and(|(outcome, _)| outcome.provides());
    if has_one || env.options.delivery != Delivery::AuthFile || !env.options.pull_record {
        return provided;
    }
    let Some((handover, name)) = handed_over(env, request) else { return provided };
    let why = match provided {
        Ok((outcome, _)) => outcome.to_string(),
        Err(error) => {
            // The kubelet ignores the answer of a plugin that fails, so this one does not fail; the journal has the reason.
            env.report.failed(&error);
            error.to_string()
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
        PluginOutcome::KeptApart { why },
        answer::for_this_account(request.api_version(), request.image(), true),
    ))
}

/// The name of the file that was handed over for this namespace and image, if one ever was.
fn handed_over(env: &Env<'_>, request: &Request) -> Option<(Handover, AuthFileName)> {
    if !env.options.lock_dir.exists() && !env.options.auth_dir.exists() {
        // The first hand-over makes both, and a reboot removes only the locks. A node that hands nothing over stays as it is.
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
            // Nobody can tell, so it counts as handed over: the other answer could open the image to everybody.
            env.report.passed_over(error);
            Some((handover, name))
        }
    }
}
