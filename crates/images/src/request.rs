//! The parts of `PullImageRequest` that matter: the image, the namespace and the kubelet's credential.
//!
//! Only these fields of the message are read, and only `auth` is ever replaced. All other bytes pass through unchanged,
//! including fields that we do not know.

use std::fmt;

use bytes::Bytes;
use pullwright_protobuf::{Fields, Malformed, append, text};

const IMAGE: u64 = 1;
const AUTH: u64 = 2;
const SANDBOX_CONFIG: u64 = 3;
/// `ImageSpec.image`
const IMAGE_IMAGE: u64 = 1;
/// `PodSandboxConfig.metadata`
const SANDBOX_METADATA: u64 = 1;
/// `PodSandboxMetadata.namespace`
const METADATA_NAMESPACE: u64 = 3;

/// A request from the kubelet.
#[derive(Clone)]
pub(crate) struct PullRequest {
    message: Bytes,
    /// The image, as the Pod names it.
    pub(crate) image: String,
    /// The namespace of the Pod; empty if the caller gives none.
    pub(crate) namespace: String,
}

impl PullRequest {
    /// Parses a message.
    ///
    /// # Errors
    /// If it is not a valid message.
    pub(crate) fn read(message: Bytes) -> Result<Self, Malformed> {
        let image = text(last_at(&message, &[IMAGE, IMAGE_IMAGE])?)?.to_owned();
        let namespace = last_at(&message, &[SANDBOX_CONFIG, SANDBOX_METADATA, METADATA_NAMESPACE])?;
        let namespace = text(namespace)?.to_owned();
        Ok(Self { message, image, namespace })
    }

    /// The `auth` message, if there is one. If the field occurs several times, the pieces form one message.
    pub(crate) fn auth(&self) -> Option<Vec<u8>> {
        let mut auth = None;
        for (_, value) in Fields::of(&self.message).flatten().filter(|(number, _)| *number == AUTH) {
            auth.get_or_insert_with(Vec::new).extend_from_slice(value);
        }
        auth
    }

    /// The same message with another `auth`.
    pub(crate) fn with_auth(&self, auth: &[u8]) -> Vec<u8> {
        // Allocate the full size at once: growing would leave copies of credentials in freed memory.
        let mut edited = Vec::with_capacity(self.message.len() + auth.len() + 16);
        self.copy_without_auth(&mut edited);
        append(&mut edited, 2, auth);
        edited
    }

    /// The same message without `auth`.
    pub(crate) fn without_auth(&self) -> Vec<u8> {
        let mut edited = Vec::with_capacity(self.message.len());
        self.copy_without_auth(&mut edited);
        edited
    }

    fn copy_without_auth(&self, edited: &mut Vec<u8>) {
        let mut fields = Fields::of(&self.message);
        loop {
            let before = fields.rest();
            let Some(Ok((number, _))) = fields.next() else { break };
            if number != AUTH {
                edited.extend_from_slice(&before[..before.len() - fields.rest().len()]);
            }
        }
    }
}

/// Names the pull in logs.
impl fmt::Display for PullRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {:?}", self.image, self.namespace)
    }
}

/// The value at the end of a path of nested messages. If a message field occurs several times, the pieces form one
/// message, so the last value in any of them counts.
fn last_at<'a>(message: &'a [u8], path: &[u64]) -> Result<&'a [u8], Malformed> {
    let [number, deeper @ ..] = path else { return Ok(message) };
    let mut found = &[][..];
    for field in Fields::of(message) {
        let (at, value) = field?;
        if at == *number {
            let value = last_at(value, deeper)?;
            if deeper.is_empty() || !value.is_empty() {
                found = value;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request as a 1.36 kubelet encodes it, with `auth` between other fields.
    fn request(image: &str, namespace: &str, auth: &[&[u8]]) -> Vec<u8> {
        let (mut spec, mut metadata, mut sandbox, mut message) = (vec![], vec![], vec![], vec![]);
        append(&mut spec, 1, image.as_bytes());
        append(&mut metadata, 1, b"pod");
        append(&mut metadata, 3, namespace.as_bytes());
        append(&mut sandbox, 1, &metadata);
        append(&mut sandbox, 2, b"hostname");
        append(&mut message, 1, &spec);
        for auth in auth {
            append(&mut message, 2, auth);
        }
        append(&mut message, 3, &sandbox);
        message
    }

    #[test]
    fn the_image_and_the_namespace_of_the_pod_are_read() {
        let message = request("docker.io/library/nginx:1", "team-a", &[b"\x0a\x01u"]);
        let read = PullRequest::read(message.into()).unwrap();
        assert_eq!((read.image.as_str(), read.namespace.as_str()), ("docker.io/library/nginx:1", "team-a"));
        assert_eq!(read.auth(), Some(b"\x0a\x01u".to_vec()));
    }

    #[test]
    fn a_caller_without_a_sandbox_has_no_namespace_and_perhaps_no_auth() {
        let read = PullRequest::read(Bytes::from_static(b"\x0a\x07\x0a\x05nginx")).unwrap();
        assert_eq!((read.auth(), read.to_string()), (None, "\"nginx\" for \"\"".to_owned()));
    }

    #[test]
    fn a_message_in_pieces_is_read_as_one() {
        // The sandbox comes twice: once with the namespace, once without.
        let mut message = request("nginx", "team-a", &[b"\x0a\x01u", b"\x12\x01p"]);
        append(&mut message, 3, b"\x12\x04more");
        let read = PullRequest::read(message.into()).unwrap();
        assert_eq!(read.namespace, "team-a");
        assert_eq!(read.auth(), Some(b"\x0a\x01u\x12\x01p".to_vec()));
    }

    #[test]
    fn what_is_no_request_is_not_read() {
        for broken in [&b"\x0a\x7fcut"[..], b"\x0a\x02\x0a\x7f", b"\x0a\x03\x0a\x01\xff", b"\x0b"] {
            assert!(PullRequest::read(Bytes::from_static(broken)).is_err(), "{broken:?}");
        }
    }

    proptest! {
        /// Builds messages from known and unknown fields, of every wire type.
        #[test]
        fn all_but_auth_stays_byte_for_byte(
            fields in proptest::collection::vec((1..40u32, 0..4u8, any::<Vec<u8>>()), 0..12),
            auth in any::<Vec<u8>>(),
        ) {
            let (mut message, mut others) = (Vec::new(), Vec::new());
            for (number, wire, value) in fields {
                let mut field = Vec::new();
                let tag = u8::try_from((number & 15) << 3).unwrap();
                match wire {
                    0 => field.extend([tag, 0x96, 0x01]),
                    1 => field.extend([tag | 1, 1, 2, 3, 4, 5, 6, 7, 8]),
                    2 => field.extend([tag | 5, 1, 2, 3, 4]),
                    // These hold the names, which must be valid for the request to be read.
                    _ if number == 1 || number == 3 => append(&mut field, number, b"\x4a\x03new"),
                    _ => append(&mut field, number, &value),
                }
                message.extend_from_slice(&field);
                if Fields::of(&field).next().unwrap().unwrap().0 != AUTH {
                    others.extend(field);
                }
            }
            let edited = PullRequest::read(message.into()).unwrap().with_auth(&auth);
            let mut expected = others;
            append(&mut expected, 2, &auth);
            prop_assert_eq!(&edited, &expected);
            prop_assert_eq!(PullRequest::read(edited.into()).unwrap().auth(), Some(auth));
        }
    }
}
