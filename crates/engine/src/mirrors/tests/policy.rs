//! `policy.json`: which lists make which policy, and its bytes.

use super::*;

const PAYLOAD: &str = "payload-reg.io/release-image";

fn sources(allowed: &[&str], blocked: &[&str]) -> RegistrySources {
    let owned = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect();
    RegistrySources { allowed: owned(allowed), blocked: owned(blocked), ..RegistrySources::default() }
}

fn policy(allowed: &[&str], blocked: &[&str]) -> Result<Option<Policy>, PolicyError> {
    merged(&[], &sources(allowed, blocked)).policy
}

/// The same in a cluster whose payload has a mirror.
fn policy_with_payload(allowed: &[&str], blocked: &[&str]) -> Result<Option<Policy>, PolicyError> {
    let sets = [idms("payload", vec![rule(PAYLOAD, &["mirror-1.io/payload"])])];
    let sources = sources(allowed, blocked);
    let payload = format!("{PAYLOAD}@sha256:{}", "a".repeat(64));
    merge_protecting(&MergeInputs { sets: &sets, sources: &sources }, &Payload::parse(&payload).unwrap())
        .policy
}

fn says(default: Requirement, scopes: &[(&str, Requirement)]) -> Policy {
    let scopes = scopes.iter().map(|(scope, requirement)| ((*scope).to_owned(), *requirement)).collect();
    Policy { default, scopes }
}

#[test]
fn lists_make_the_policy_that_the_machine_config_operator_makes() {
    use Requirement::{Accept, Reject};
    assert_eq!(policy(&[], &[]), Ok(None), "the policy that nodes are installed with stays");
    assert_eq!(
        policy(&["allow.io", "*.allowed-example.com"], &[]),
        Ok(Some(says(Reject, &[("allow.io", Accept), ("*.allowed-example.com", Accept)])))
    );
    assert_eq!(
        policy(&[], &["block.com", "*.blocked-example.com"]),
        Ok(Some(says(Accept, &[("block.com", Reject), ("*.blocked-example.com", Reject)])))
    );
    assert_eq!(policy(&["allow.io"], &["block.com"]), Err(PolicyError::BlockedAndAllowed));
    assert_eq!(
        PolicyError::BlockedAndAllowed.to_string(),
        "invalid images config: only one of AllowedRegistries or BlockedRegistries may be specified"
    );
}

#[test]
fn only_the_payload_is_allowed_beside_what_is_blocked() {
    use Requirement::{Accept, Reject};
    let both = Ok(Some(says(Accept, &[("block.com", Reject), (PAYLOAD, Accept)])));
    assert_eq!(policy_with_payload(&[PAYLOAD], &["block.com"]), both);
    assert_eq!(policy_with_payload(&[], &["block.com"]), Ok(Some(says(Accept, &[("block.com", Reject)]))));
    assert_eq!(
        policy_with_payload(&[PAYLOAD], &["payload-reg.io"]),
        Ok(Some(says(Accept, &[("payload-reg.io", Reject), (PAYLOAD, Accept)])))
    );
    for allowed in [&["allow.io"][..], &[PAYLOAD, "allow.io"]] {
        for blocked in ["block.com", "payload-reg.io"] {
            assert_eq!(policy_with_payload(allowed, &[blocked]), Err(PolicyError::BlockedAndAllowed));
        }
    }
    assert_eq!(policy(&[PAYLOAD], &["block.com"]), Err(PolicyError::BlockedAndAllowed), "it is not known");
}

#[test]
fn bad_entries_neither_open_nor_close_everything() {
    use Requirement::{Accept, Reject};
    assert_eq!(policy(&["https://allow.io"], &[]), Err(PolicyError::NothingAllowed));
    assert_eq!(policy(&["https://allow.io", "quay.io"], &[]), Ok(Some(says(Reject, &[("quay.io", Accept)]))));
    assert_eq!(policy(&[], &["https://block.io"]), Ok(None));
}

#[test]
fn the_text_is_that_of_the_machine_config_operator() {
    let text = r#"{
  "default": [
    {
      "type": "insecureAcceptAnything"
    }
  ],
  "transports": {
    "atomic": {
      "*.blocked-example.com": [
        {
          "type": "reject"
        }
      ],
      "block.io/a/b": [
        {
          "type": "reject"
        }
      ]
    },
    "docker": {
      "*.blocked-example.com": [
        {
          "type": "reject"
        }
      ],
      "block.io/a/b": [
        {
          "type": "reject"
        }
      ],
      "block.io/a/b/c": [
        {
          "type": "reject"
        }
      ]
    },
    "docker-daemon": {
      "": [
        {
          "type": "insecureAcceptAnything"
        }
      ]
    }
  }
}"#;
    for blocked in [
        ["block.io/a/b/c", "block.io/a/b", "*.blocked-example.com"],
        ["*.blocked-example.com", "block.io/a/b", "block.io/a/b/c"],
    ] {
        assert_eq!(policy(&[], &blocked).unwrap().unwrap().render(), text);
    }
}

#[test]
fn all_scopes_may_be_too_deep_for_the_registry_of_openshift() {
    let text = policy(&["allow.io/a/b/c"], &[]).unwrap().unwrap().render();
    assert!(text.contains("\"atomic\": {},\n"), "{text}");
    assert!(text.starts_with("{\n  \"default\": [\n    {\n      \"type\": \"reject\"\n"), "{text}");
}
