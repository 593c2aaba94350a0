//! Lists of Secrets in Kubernetes' protobuf format, which the real API server sends to clients that ask for it.

use pullwright_golang::base64;
use serde_json::{Map, Value};

/// The name of the format in `Accept` and `Content-Type`.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Encodes a `SecretList` in its envelope.
pub(super) fn secret_list(metadata: &Value, secrets: &[&Value]) -> Vec<u8> {
    let texts = [(2, text(metadata, "resourceVersion")), (3, text(metadata, "continue"))];
    let mut list = field(1, &texts.map(|(number, text)| field(number, text.as_bytes())).concat());
    list.extend(secrets.iter().flat_map(|secret| field(2, &self::secret(secret))));
    let kind = [field(1, b"v1"), field(2, b"SecretList")].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &list), field(3, b""), field(4, b"")].concat()
}

fn secret(secret: &Value) -> Vec<u8> {
    let metadata = &secret["metadata"];
    let texts = [(1, "name"), (3, "namespace"), (6, "resourceVersion")];
    let mut bytes =
        field(1, &texts.map(|(number, name)| field(number, text(metadata, name).as_bytes())).concat());
    for (key, value) in secret["data"].as_object().unwrap_or(&Map::new()) {
        let value = value.as_str().and_then(|value| base64::decode(value).ok()).unwrap_or_default();
        bytes.extend(field(2, &[field(1, key.as_bytes()), field(2, &value)].concat()));
    }
    bytes.extend(field(3, text(secret, "type").as_bytes()));
    bytes
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// Encodes a field with a length: text, bytes or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or(0));
    bytes.extend_from_slice(content);
    bytes
}
