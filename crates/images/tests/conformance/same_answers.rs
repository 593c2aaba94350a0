//! One request, two ways, one answer.

use std::collections::BTreeMap;

use pullwright_protobuf::{Fields, append};
use pullwright_testkit::standin::Setup;

use crate::caller::{Answer, Caller, framed, whole};
use crate::running::pull;
use crate::world::{World, registry};

/// An answer so that two of them can be compared: containerd lists images in any order.
#[derive(Debug, PartialEq)]
struct Shape {
    headers: BTreeMap<String, Vec<u8>>,
    trailers: BTreeMap<String, Vec<u8>>,
    /// The fields of all messages.
    fields: Vec<(u64, Vec<u8>)>,
}

fn shape(answer: &Answer) -> Shape {
    let plain = |headers: &hyper::HeaderMap| {
        let headers = headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        headers.collect()
    };
    let (mut fields, mut rest) = (Vec::new(), &answer.data[..]);
    while !rest.is_empty() {
        assert_eq!(rest[0], 0, "not compressed");
        let length = u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
        let message = Fields::of(&rest[5..5 + length]).map(|field| field.unwrap());
        fields.extend(message.map(|(number, value)| (number, value.to_vec())));
        rest = &rest[5 + length..];
    }
    fields.sort();
    Shape {
        headers: plain(&answer.headers),
        trailers: answer.trailers.as_ref().map(plain).unwrap_or_default(),
        fields,
    }
}

impl Shape {
    /// The fields of the messages in its fields, in which numbers have no value.
    fn without_numbers(mut self) -> Self {
        let inner =
            self.fields.iter().flat_map(|(_, message)| Fields::of(message).map(|field| field.unwrap()));
        self.fields = inner.map(|(number, value)| (number, value.to_vec())).collect();
        self
    }
}

async fn ask(
    caller: &Caller,
    method: &str,
    message: &[u8],
    headers: &[(&'static str, &'static str)],
) -> Shape {
    shape(&whole(caller.send(method, headers, framed(message)).await.unwrap()).await.unwrap())
}

/// An image's name as `ImageSpec` in field 1.
fn image(name: &str) -> Vec<u8> {
    let (mut spec, mut message) = (Vec::new(), Vec::new());
    append(&mut spec, 1, name.as_bytes());
    append(&mut message, 1, &spec);
    message
}

/// The same as a filter of a list.
fn filter(name: &str) -> Vec<u8> {
    let mut message = Vec::new();
    append(&mut message, 1, &image(name));
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_answers_the_same_through_the_service() {
    let world = World::start(|_| {}).await;
    let registry = registry(Setup::default(), 4);
    let named = |at: &str| format!("{}/app:{at}", registry.address());
    // Two of them are there, pulled one way each, with the same answer for the same image.
    for at in ["0", "1"] {
        let request = pull(&named(at), "default", None);
        let through = ask(&world.through, "PullImage", &request, &[]).await;
        let directly = ask(&world.directly, "PullImage", &request, &[]).await;
        assert_eq!(through, directly);
        assert_eq!(
            (through.fields.len(), &through.trailers["grpc-status"]),
            (1, &b"0".to_vec()),
            "{through:?}"
        );
    }
    let mut verbose = image(&named("0"));
    verbose.extend(b"\x10\x01");
    let mut unknown = image(&named("0"));
    append(&mut unknown, 99, b"a field of the future");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("ListImages", vec![]),
        ("ListImages", filter(&named("1"))),
        ("ListImages", filter("nobody/has:it")),
        ("StreamImages", vec![]),
        ("StreamImages", filter(&named("0"))),
        ("ImageStatus", image(&named("0"))),
        ("ImageStatus", verbose),
        ("ImageStatus", unknown),
        ("ImageStatus", image("nobody/has:it")),
        ("ImageStatus", image("Not A Name")),
        ("ImageStatus", vec![]),
        ("PullImage", image("Not A Name")),
        ("PullImage", pull(&named("no-such-tag"), "default", None)),
        ("PullImage", pull(&named("0"), "", Some(b"\x0a\x04user\x12\x04pass"))),
        ("PullImage", b"\x0a\x7fcut".to_vec()),
        ("ImageStatus", b"\x0a\x7fcut".to_vec()),
        ("RemoveImage", image("nobody/has:it")),
        ("RemoveImage", vec![]),
        ("PinImage", vec![]),
    ];
    for (method, message) in cases {
        let through = ask(&world.through, method, &message, &[]).await;
        let directly = ask(&world.directly, method, &message, &[]).await;
        assert_eq!(through, directly, "{method} {message:?}");
    }
    // What a file system's figures say is the time at which it was asked, too: all but numbers is compared.
    let through = ask(&world.through, "ImageFsInfo", &[], &[]).await.without_numbers();
    let directly = ask(&world.directly, "ImageFsInfo", &[], &[]).await.without_numbers();
    assert_eq!(through, directly);
    assert_eq!(through.fields.len(), 4, "time, path, bytes and inodes: {through:?}");
    // Removed one way each: then both are gone, either way.
    ask(&world.through, "RemoveImage", &image(&named("0")), &[]).await;
    ask(&world.directly, "RemoveImage", &image(&named("1")), &[]).await;
    for caller in [&world.through, &world.directly] {
        assert_eq!(ask(caller, "ListImages", &[], &[]).await.fields, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_a_call_the_same_way() {
    let world = World::start(|_| {}).await;
    let registry = registry(Setup::default(), 1);
    let request = pull(&format!("{}/app:0", registry.address()), "default", None);
    let code = |shape: Shape| shape.trailers.get("grpc-status").or(shape.headers.get("grpc-status")).cloned();
    for (method, message) in [("PullImage", request.as_slice()), ("ListImages", b"")] {
        let timeout = [("grpc-timeout", "1n")];
        let through = ask(&world.through, method, message, &timeout).await;
        let directly = ask(&world.directly, method, message, &timeout).await;
        assert_eq!((code(through), code(directly)), (Some(b"4".to_vec()), Some(b"4".to_vec())), "{method}");
    }
}
