//! The bytes of the file.

use super::*;

#[test]
fn the_text_is_that_of_the_go_encoder() {
    let set = idms(
        "ubi",
        vec![never(
            "registry.access.redhat.com/ubi8/ubi-minimal",
            &["example.io/digest-example/ubi-minimal"],
        )],
    );
    let search = Some(vec!["registry.access.redhat.com".to_owned(), "docker.io".to_owned()]);
    let sources = RegistrySources { search, ..RegistrySources::default() };
    let text = r#"unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]
short-name-mode = ""
additional-layer-store-auth-helper = ""

[[registry]]
  prefix = ""
  location = "registry.access.redhat.com/ubi8/ubi-minimal"
  blocked = true

  [[registry.mirror]]
    location = "example.io/digest-example/ubi-minimal"
    pull-from-mirror = "digest-only"
"#;
    assert_eq!(merged(&[set], &sources).render(), text);
    assert_eq!(text.len(), 356);
}

#[test]
fn a_wildcard_is_a_prefix_and_everything_else_a_location() {
    let sources = RegistrySources {
        insecure: vec!["*.example.com".to_owned(), "m.io".to_owned()],
        ..RegistrySources::default()
    };
    let set = itms("tags", vec![rule("quay.io", &["m.io/quay"])]);
    let text = r#"short-name-mode = ""
additional-layer-store-auth-helper = ""

[[registry]]
  prefix = ""
  location = "quay.io"

  [[registry.mirror]]
    location = "m.io/quay"
    insecure = true
    pull-from-mirror = "tag-only"

[[registry]]
  prefix = "*.example.com"
  insecure = true

[[registry]]
  prefix = ""
  location = "m.io"
  insecure = true
"#;
    assert_eq!(merged(&[set], &sources).render(), text);
}

#[test]
fn search_registries_alone_are_a_file_too() {
    let search = Some(vec!["search-reg.io".to_owned()]);
    let sources = RegistrySources { search, ..RegistrySources::default() };
    let text = "unqualified-search-registries = [\"search-reg.io\"]\nshort-name-mode = \"\"\n\
        additional-layer-store-auth-helper = \"\"\n";
    assert_eq!(merged(&[], &sources).render(), text);
}
