//! The error for the kubelet when no credential led to the image.

use std::fmt::Write as _;

use crate::decide::{CredentialOrigin, SkippedSource};
use crate::grpc::{Code, Status};

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) origin: CredentialOrigin,
    pub(crate) status: Status,
}

/// One status for all attempts: the code and the message of the last one, then the result of each. containerd's message
/// comes first, because kubelets check how an error begins.
pub(crate) fn failed(
    last: &Status,
    earlier: &[Attempt],
    origin: &CredentialOrigin,
    passed_over: &[SkippedSource],
) -> Status {
    let mut message = last.message.clone();
    let _ = write!(message, " (tried the credentials ");
    for attempt in earlier {
        let _ = write!(message, "for {}: {}; then ", attempt.origin, attempt.status.message);
    }
    let _ = write!(message, "for {origin}: the error above");
    for SkippedSource { repository, why } in passed_over {
        let _ = write!(message, "; none for {repository}: {why}");
    }
    message.push(')');
    Status { code: last.code, message }
}

/// The status when the caller's deadline passed between two calls.
pub(crate) fn too_late(earlier: &[Attempt]) -> Status {
    let mut message = "no time is left for another credential".to_owned();
    for attempt in earlier {
        let _ = write!(message, "; tried the one for {}: {}", attempt.origin, attempt.status.message);
    }
    Status::new(Code::DEADLINE_EXCEEDED, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::NoCall;

    #[test]
    fn the_last_error_comes_first_and_each_source_has_its_reason() {
        let source = |repository: &str| CredentialOrigin::Source {
            repository: repository.to_owned(),
            host: "not shown".to_owned(),
            asked: true,
        };
        let earlier = [Attempt { origin: source("m.example/x"), status: Status::new(Code::UNKNOWN, "401") }];
        let passed_over = [SkippedSource { repository: "n.example/x".to_owned(), why: NoCall::Nothing }];
        let last = Status::new(Code(5), "not found");
        let status = failed(&last, &earlier, &CredentialOrigin::Kubelet, &passed_over);
        assert_eq!(status.code, Code(5));
        assert_eq!(
            status.message,
            "not found (tried the credentials for m.example/x: 401; then for imagePullSecrets: the error above; \
             none for n.example/x: no credential)"
        );
    }
}
