//! Lists of Secrets in the encoding in which the API server stores them: Kubernetes' protobuf.
//!
//! All of the cluster's own components ask for it. A list of Secrets is a third shorter than in JSON, arrives sooner by
//! as much, and can be read here without looking at most of it. A server that has only JSON answers in JSON.

use std::io::{self, BufRead, Read as _};

use pullwright_engine::credentials::{PullSecret, SecretError, SecretName, WantedRepositories};
use pullwright_engine::kubelet::Namespace;
use pullwright_protobuf::{Fields, Malformed, last, text};

/// Its name in `Accept` and `Content-Type`.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The first bytes of every object in this encoding.
const MAGIC: &[u8] = b"k8s\0";
/// The kind of a list.
const LIST: &[u8] = b"SecretList";

/// The most memory for one Secret. By default, the API server stores none of more than 1.5 MiB.
const ITEM_MAX: u64 = 4 << 20;
/// The most memory for a list's metadata.
const METADATA_MAX: u64 = 64 << 10;

/// A Secret, with only the fields that we need.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    data: Vec<(&'a str, &'a [u8])>,
}

/// Hides the data, which is secret.
impl std::fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Item").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Why a list cannot be read.
#[derive(Debug)]
pub(super) enum ListError {
    /// It did not arrive.
    Io(io::Error),
    /// It is not a list.
    Malformed,
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Malformed> for ListError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// Reads a `SecretList` as it arrives. Calls `each` with every Secret, or with `None` for one that is too large, and
/// returns the token for the next page, which is empty at the end. However long the list is, it uses the memory of one
/// Secret.
pub(super) fn read_list(
    mut from: impl BufRead,
    mut each: impl FnMut(Option<&Item<'_>>),
) -> Result<String, ListError> {
    let (mut space, mut is_list, mut next) = (Vec::new(), false, None);
    if with_bytes(&mut from, MAGIC.len() as u64, &mut space, |begins| begins != MAGIC)? {
        return Err(ListError::Malformed);
    }
    // The envelope: field 1 is the type, whose field 2 is the kind; field 2 is the list.
    while let Some(field) = field(&mut from)? {
        match field {
            (1, Some(length)) if length <= METADATA_MAX => {
                is_list = with_bytes(&mut from, length, &mut space, |kind| {
                    last(kind, 2).map(|kind| kind == LIST)
                })??;
            }
            (2, Some(length)) if is_list => {
                let mut list = from.by_ref().take(length);
                while let Some(field) = self::field(&mut list)? {
                    match field {
                        (1, Some(length)) if length <= METADATA_MAX => {
                            let token =
                                |metadata: &[u8]| Ok::<_, Malformed>(text(last(metadata, 3)?)?.to_owned());
                            next = Some(with_bytes(&mut list, length, &mut space, token)??);
                        }
                        (2, Some(length)) if length <= ITEM_MAX => {
                            with_bytes(&mut list, length, &mut space, |item| {
                                Item::read(item).map(|item| each(Some(&item)))
                            })??;
                        }
                        (number, length) => {
                            skip(&mut list, length.unwrap_or(0))?;
                            if number == 2 {
                                each(None);
                            }
                        }
                    }
                }
                // The input may end before the list does.
                if list.limit() > 0 {
                    return Err(ListError::Malformed);
                }
            }
            (_, length) => skip(&mut from, length.unwrap_or(0))?,
        }
    }
    // Every list has metadata: a server that sends none is not an API server.
    next.ok_or(ListError::Malformed)
}

/// The number of the next field, and the length of its value if it has one; `None` at the end.
fn field(from: &mut impl BufRead) -> Result<Option<(u64, Option<u64>)>, ListError> {
    if from.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let tag = varint(from)?;
    let length = match tag & 7 {
        0 => varint(from).map(|_| None)?,
        1 => skip(from, 8).map(|()| None)?,
        2 => Some(varint(from)?),
        5 => skip(from, 4).map(|()| None)?,
        _ => return Err(ListError::Malformed),
    };
    Ok(Some((tag >> 3, length)))
}

fn varint(from: &mut impl BufRead) -> Result<u64, ListError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let &byte = from.fill_buf()?.first().ok_or(ListError::Malformed)?;
        from.consume(1);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ListError::Malformed)
}

/// Skips exactly `length` bytes.
fn skip(from: &mut impl BufRead, mut length: u64) -> Result<(), ListError> {
    while length > 0 {
        let available = from.fill_buf()?.len();
        if available == 0 {
            return Err(ListError::Malformed);
        }
        let taken = usize::try_from(length).map_or(available, |length| length.min(available));
        from.consume(taken);
        length -= taken as u64;
    }
    Ok(())
}

/// Calls `use_them` with the next `length` bytes: in place if they have all arrived, else collected in `space`.
fn with_bytes<T>(
    from: &mut impl BufRead,
    length: u64,
    space: &mut Vec<u8>,
    use_them: impl FnOnce(&[u8]) -> T,
) -> Result<T, ListError> {
    let count = usize::try_from(length).map_err(|_| ListError::Malformed)?;
    if let Some(bytes) = from.fill_buf()?.get(..count) {
        let value = use_them(bytes);
        from.consume(count);
        return Ok(value);
    }
    space.clear();
    if from.by_ref().take(length).read_to_end(space)? < count {
        return Err(ListError::Malformed);
    }
    Ok(use_them(space))
}

impl<'a> Item<'a> {
    fn read(secret: &'a [u8]) -> Result<Self, Malformed> {
        let mut item = Self::default();
        for field in Fields::of(secret) {
            match field? {
                (1, metadata) => item.name = text(last(metadata, 1)?)?,
                (2, entry) => item.data.push((text(last(entry, 1)?)?, last(entry, 2)?)),
                (3, kind) => item.kind = text(kind)?,
                _ => {}
            }
        }
        if item.name.is_empty() { Err(Malformed) } else { Ok(item) }
    }

    /// Reads it as a pull secret; `None` if it holds nothing that is wanted.
    pub(super) fn read_secret(
        &self,
        namespace: &Namespace,
        wanted: &WantedRepositories<'_>,
    ) -> Result<Option<PullSecret>, (SecretName, SecretError)> {
        let name = || SecretName { namespace: namespace.to_string(), name: self.name.to_owned() };
        let value =
            |key: &str| self.data.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value);
        PullSecret::about(wanted, name, self.kind, value).map_err(|error| (name(), error))
    }
}

/// The message of a `Status`, with which the server refuses.
pub(super) fn message(body: &[u8]) -> Result<&str, Malformed> {
    text(last(object(body, "Status")?, 3)?)
}

/// The object in its envelope: field 1 is its type (version 1, kind 2), field 2 its content.
fn object<'a>(body: &'a [u8], kind: &str) -> Result<&'a [u8], Malformed> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Malformed)?;
    if last(last(envelope, 1)?, 2)? == kind.as_bytes() { last(envelope, 2) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use pullwright_protobuf::append;

    use super::*;

    /// Written by kube-apiserver v1.36.
    const PAGE: &[u8] = include_bytes!("../../testdata/page-one-of-two-with-two-secrets.protobuf");
    const FORBIDDEN: &[u8] = include_bytes!("../../testdata/forbidden-to-list-secrets.protobuf");

    /// The contents of a list: a value for each Secret, and the token for the next page.
    fn read<T>(list: &[u8], from: impl Fn(&Item<'_>) -> T) -> Result<(Vec<T>, String), ListError> {
        let mut items = Vec::new();
        let next = read_list(list, |item| items.extend(item.map(&from)))?;
        Ok((items, next))
    }

    fn is_malformed<T>(read: &Result<T, ListError>) -> bool {
        matches!(read, Err(ListError::Malformed))
    }

    #[test]
    fn a_page_of_a_real_server_is_read() {
        let namespace = "with-10".parse().unwrap();
        let secrets = |wanted: &WantedRepositories<'_>| -> Vec<_> {
            let (read, _) = read(PAGE, |item| item.read_secret(&namespace, wanted).unwrap()).unwrap();
            read.into_iter().flatten().collect()
        };
        let (shown, next) = read(PAGE, |item| format!("{item:?}")).unwrap();
        assert!(next.starts_with("eyJ2IjoibWV0YS5rOHMuaW8vdjEi"), "{next}");
        let all = secrets(&WantedRepositories::anything());
        let names: Vec<_> = all.iter().map(|secret| secret.name().to_string()).collect();
        assert_eq!(names, ["with-10/pull-secret-0000", "with-10/pull-secret-0001"]);
        let keys: Vec<_> = all.iter().map(|secret| secret.entries()[0].key.as_str()).collect();
        assert_eq!(keys, ["mirror-0.example:5000", "mirror-1.example:5000"]);
        assert_eq!(all[1].entries()[0].credential.username, b"user-1");
        assert_eq!(
            secrets(&WantedRepositories::of(["mirror-1.example:5000/nginx"])),
            all[1..],
            "those about a host"
        );
        assert!(!shown.concat().contains("user-1"), "{shown:?}");
    }

    /// However it arrives: a byte at a time, a few, or all at once.
    #[test]
    fn a_list_that_comes_in_pieces_is_the_same_list() {
        let whole = read(PAGE, |item| format!("{item:?} {:?}", item.data)).unwrap();
        for piece in 1..64 {
            let mut items = Vec::new();
            let pieces = std::io::BufReader::with_capacity(piece, PAGE);
            let next =
                read_list(pieces, |item| items.extend(item.map(|item| format!("{item:?} {:?}", item.data))));
            assert_eq!((items, next.unwrap()), whole, "{piece}");
        }
    }

    #[test]
    fn a_secret_that_is_too_large_is_passed_over_and_said() {
        let item = |name: &[u8], size: usize| {
            let (mut metadata, mut entry, mut secret) = (Vec::new(), Vec::new(), Vec::new());
            append(&mut metadata, 1, name);
            append(&mut entry, 2, &vec![b'x'; size]);
            append(&mut secret, 1, &metadata);
            append(&mut secret, 2, &entry);
            secret
        };
        let (mut kind, mut list, mut body) = (Vec::new(), Vec::new(), MAGIC.to_vec());
        append(&mut kind, 2, LIST);
        append(&mut list, 1, b"");
        append(&mut list, 2, &item(b"a", 5 << 20));
        append(&mut list, 2, &item(b"b", 1));
        append(&mut body, 1, &kind);
        append(&mut body, 2, &list);
        let mut names = Vec::new();
        read_list(&body[..], |item| names.push(item.map(|item| item.name.to_owned()))).unwrap();
        assert_eq!(names, [None, Some("b".to_owned())]);
    }

    #[test]
    fn the_words_of_a_refusal_are_read() {
        let said = message(FORBIDDEN).unwrap();
        assert!(
            said.starts_with("secrets is forbidden: User \"system:serviceaccount:with-10:default\""),
            "{said}"
        );
        assert!(is_malformed(&read(FORBIDDEN, |_| ())), "it is no list");
        assert_eq!(message(PAGE), Err(Malformed), "nor is a list a refusal");
    }

    #[test]
    fn a_page_cut_anywhere_is_not_read_as_a_shorter_one() {
        // After the list, the envelope has two more fields, which are empty.
        for end in 0..PAGE.len() - 4 {
            assert!(is_malformed(&read(&PAGE[..end], |_| ())), "{end}");
        }
    }
}
