//! Manifests have two readers: this one, which knows places and goes on after a fault, and the API's types, which controllers read
//! from the API server. Over generated objects, good and bad, both refuse or both give the engine the same.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use pullwright_api::{Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::*;

/// What a field may hold: mostly what it should, and now and then nothing, null, or something else.
///
/// A list where an object should be is not among them: serde takes a list for a struct, in the order of its fields. No API server
/// gives one, and this reader refuses it, as its own tests say.
fn field(good: impl Strategy<Value = Value> + 'static, expected: Expected) -> BoxedStrategy<Option<Value>> {
    let mut wrong = vec![json!(true), json!(5000), json!(1.5)];
    if expected != Expected::Text {
        wrong.push(json!("text"));
    }
    if expected != Expected::Object {
        wrong.push(json!({}));
        wrong.push(json!({"source": "a.io"}));
    }
    if expected == Expected::Text {
        wrong.extend([json!([]), json!(["a.io"])]);
    }
    prop_oneof![
        20 => good.prop_map(Some),
        1 => Just(None),
        1 => Just(Some(Value::Null)),
        1 => select(wrong).prop_map(Some),
    ]
    .boxed()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Text,
    List,
    Object,
}

/// A map of the fields that are there, sometimes with one that the API does not know.
fn map(fields: Vec<(&'static str, BoxedStrategy<Option<Value>>)>) -> BoxedStrategy<Value> {
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let unknown = option::weighted(0.1, select(vec![json!(null), json!(1), json!("x"), json!(["x"])]));
    (values, unknown)
        .prop_map(move |(values, unknown)| {
            let fields =
                names.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
            let mut map: Map<String, Value> = fields.collect();
            map.extend(unknown.map(|value| ("unknownField".to_owned(), value)));
            Value::Object(map)
        })
        .boxed()
}

/// Names of registries, few enough that lists repeat them, and texts that are none.
fn place() -> impl Strategy<Value = Value> {
    let places = ["a.io", "b.io:5000/team", "*.c.io", "quay.io/team/app", "", "https://d.io", "E.io/X"];
    select(places.to_vec()).prop_map(Value::from)
}

fn list(item: impl Strategy<Value = Value> + 'static, expected: Expected) -> impl Strategy<Value = Value> {
    let item = field(item, expected).prop_map(Option::unwrap_or_default);
    prop_oneof![1 => Just(json!([])), 9 => vec(item, 0..4).prop_map(Value::from)]
}

fn texts() -> BoxedStrategy<Option<Value>> {
    field(list(place(), Expected::Text), Expected::List)
}

fn one_of(values: &[&str]) -> BoxedStrategy<Option<Value>> {
    field(select(values.iter().map(|text| json!(text)).collect::<Vec<_>>()), Expected::Text)
}

fn rules(with_policy: bool) -> BoxedStrategy<Option<Value>> {
    let policies = ["NeverContactSource", "AllowContactingSource", "AllowContactingSource", "Never", ""];
    let mut fields = vec![("source", field(place(), Expected::Text)), ("mirrors", texts())];
    // Elsewhere it is an unknown field, whatever it holds.
    fields.push(("mirrorSourcePolicy", if with_policy { one_of(&policies) } else { texts() }));
    field(list(map(fields), Expected::Object), Expected::List)
}

fn image_spec() -> BoxedStrategy<Value> {
    let config_map = map(vec![("name", field(Just(json!("ca")), Expected::Text))]);
    let flag = prop_oneof![5 => Just(Some(json!(true))), 1 => Just(Some(json!("yes"))), 1 => Just(Some(Value::Null))];
    let location = map(vec![("domainName", field(place(), Expected::Text)), ("insecure", flag.boxed())]);
    let sources = map(vec![
        ("insecureRegistries", texts()),
        ("blockedRegistries", texts()),
        ("allowedRegistries", texts()),
        ("containerRuntimeSearchRegistries", texts()),
    ]);
    map(vec![
        ("additionalTrustedCA", field(config_map, Expected::Object)),
        ("allowedRegistriesForImport", field(list(location, Expected::Object), Expected::List)),
        ("externalRegistryHostnames", texts()),
        ("imageStreamImportMode", one_of(&["", "Legacy", "PreserveOriginal", "PreserveOriginal", "Other"])),
        ("registrySources", field(sources, Expected::Object)),
    ])
}

/// An object around a spec. What tells the two readers which object it is, is always there: without it, neither is asked.
fn object(api_version: &'static str, kind: &'static str, spec: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let label = field(select(vec![json!("x"), json!("")]), Expected::Text)
        .prop_map(|label| label.filter(|label| !label.is_null()))
        .boxed();
    let metadata = map(vec![
        ("name", Just(Some(json!("cluster"))).boxed()),
        ("labels", field(map(vec![("team", label.clone())]).prop_map(without_unknown), Expected::Object)),
        ("annotations", field(map(vec![("note", label)]).prop_map(without_unknown), Expected::Object)),
    ]);
    map(vec![
        ("apiVersion", Just(Some(json!(api_version))).boxed()),
        ("kind", Just(Some(json!(kind))).boxed()),
        ("metadata", metadata.prop_map(Some).boxed()),
        ("spec", field(spec, Expected::Object)),
        ("status", option::of(Just(json!({}))).boxed()),
    ])
}

/// Labels may have any name, so that none is unknown.
fn without_unknown(mut map: Value) -> Value {
    if let Value::Object(map) = &mut map {
        map.remove("unknownField");
    }
    map
}

fn read_by_api<T: DeserializeOwned, E: From<T>>(object: &Value) -> Option<E> {
    serde_json::from_value::<T>(object.clone()).ok().map(E::from)
}

/// What this reader makes of a manifest of one object.
fn read_here(object: &Value) -> Says {
    let file = ManifestFile::new(object.to_string(), "object.json".into());
    let mut objects = read(std::slice::from_ref(&file));
    let read = objects.pop().expect("the kind is known");
    assert!(objects.is_empty());
    read.says
}

fn compare_sets<T: DeserializeOwned>(object: &Value) -> Result<(), TestCaseError>
where
    MirrorSet: From<T>,
{
    let here = match read_here(object) {
        Says::Mirrors(set) => Some(set),
        Says::Registries(_) | Says::Nothing => None,
    };
    prop_assert_eq!(here, read_by_api::<T, MirrorSet>(object), "{}", object);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn both_readers_agree_about_image_digest_mirror_sets(
        object in object("config.openshift.io/v1", "ImageDigestMirrorSet", map(vec![("imageDigestMirrors", rules(true))])),
    ) {
        compare_sets::<ImageDigestMirrorSet>(&object)?;
    }

    #[test]
    fn both_readers_agree_about_image_tag_mirror_sets(
        object in object("config.openshift.io/v1", "ImageTagMirrorSet", map(vec![("imageTagMirrors", rules(true))])),
    ) {
        compare_sets::<ImageTagMirrorSet>(&object)?;
    }

    #[test]
    fn both_readers_agree_about_image_content_source_policies(
        object in object(
            "operator.openshift.io/v1alpha1",
            "ImageContentSourcePolicy",
            map(vec![("repositoryDigestMirrors", rules(false))]),
        ),
    ) {
        compare_sets::<ImageContentSourcePolicy>(&object)?;
    }

    #[test]
    fn both_readers_agree_about_images(object in object("config.openshift.io/v1", "Image", image_spec())) {
        let here = match read_here(&object) {
            Says::Registries(sources) => Some(sources),
            Says::Mirrors(_) | Says::Nothing => None,
        };
        prop_assert_eq!(here, read_by_api::<Image, RegistrySources>(&object), "{}", object);
    }
}
