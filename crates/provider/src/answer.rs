//! The answers to the kubelet. Most of them hold nothing to cache, and say which service account the pull is for.

use std::collections::BTreeMap;

use pullwright_engine::credentials::Sensitive;
use pullwright_engine::kubelet::exec::AuthConfig;
use pullwright_engine::kubelet::{ApiVersion, Response};
use pullwright_handover::Ticket;

/// The answer if a file is or was handed over.
///
/// It has an entry for the image with an empty user and password. CRI-O ignores it, and the kubelet records the pull
/// for this service account. Without it the kubelet would regard the image as public, and let every Pod on the node use
/// it.
pub(crate) fn for_this_account(version: ApiVersion, image: &str, pull_record: bool) -> Response {
    let mut response = Response::empty(version);
    if pull_record {
        let nobody = AuthConfig { username: String::new(), password: Sensitive::new(String::new()) };
        response.auth.insert(image.to_owned(), nobody);
    }
    response
}

/// The answer with a ticket, which the kubelet passes on with the pull, for this service account.
pub(crate) fn with_ticket(version: ApiVersion, image: &str, ticket: &Ticket) -> Response {
    let mut response = Response::empty(version);
    let password = Sensitive::new(ticket.expose().to_owned());
    response.auth.insert(image.to_owned(), AuthConfig { username: Ticket::USERNAME.to_owned(), password });
    response
}

/// The answer with credentials.
pub(crate) fn with_credentials(version: ApiVersion, auth: BTreeMap<String, AuthConfig>) -> Response {
    Response { auth, ..Response::empty(version) }
}
