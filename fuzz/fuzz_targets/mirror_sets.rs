//! Any objects merge into a file that loads, whatever is in them, and into the same one in any order.
//!
//! A line is a rule: a letter for the kind, a digit for the object, the source and its mirrors, separated by spaces; `!` behind
//! the digit forbids asking the source. `I` and `B` lines are insecure and blocked registries.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::mirrors::{MergeInputs, MirrorSetKind, MirrorSet, RegistrySources, MirrorSetRule, SourcePolicy, merge};

fuzz_target!(|text: &str| {
    let mut sets: Vec<MirrorSet> = Vec::new();
    let mut sources = RegistrySources::default();
    for line in text.lines() {
        let mut words = line.split(' ').map(str::to_owned);
        let object = words.next().unwrap_or_default();
        let kind = match object.chars().next() {
            Some('D') => MirrorSetKind::ImageDigestMirrorSet,
            Some('T') => MirrorSetKind::ImageTagMirrorSet,
            Some('C') => MirrorSetKind::ImageContentSourcePolicy,
            Some('I') => {
                sources.insecure.extend(words);
                continue;
            }
            Some('B') => {
                sources.blocked.extend(words);
                continue;
            }
            _ => continue,
        };
        let name = object.trim_end_matches('!').to_owned();
        let policy = object.ends_with('!').then_some(SourcePolicy::NeverContactSource);
        let rule = MirrorSetRule { source: words.next().unwrap_or_default(), mirrors: words.collect(), policy };
        match sets.iter_mut().find(|set| set.name == name) {
            Some(set) => set.rules.push(rule),
            None => sets.push(MirrorSet { kind, name, rules: vec![rule] }),
        }
    }
    let merged = merge(&MergeInputs { sets: &sets, sources: &sources });
    merged.registries_conf("/a.conf".into()).expect("what is rendered loads");
    sets.reverse();
    let again = merge(&MergeInputs { sets: &sets, sources: &sources });
    assert_eq!(merged.render(), again.render(), "the order of objects matters");
});
