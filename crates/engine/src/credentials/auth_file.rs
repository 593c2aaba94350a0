//! The auth file for one pull: its content is such that the runtime's lookup finds, for every source, exactly
//! what was chosen.
//!
//! Why that holds: every source with a credential of the namespace has an entry under its own full name, the
//! first key that the lookup tries. No other source sees that entry, since a source below it is in the same
//! scope and has its own. What the global file answers by a key above the source stays as it is. What it
//! answers by host (`https://index.docker.io/v1/`, where Go takes any of several) gets an entry under the
//! source's name as well, so nothing written here can change it.

use std::collections::BTreeMap;

use super::document::{Document, Format};
use super::entry::AuthEntry;
use super::lookup::{Hit, host_of};
use super::select::{Absence, Choice, Chosen, Selection};
use super::sensitive::Sensitive;

/// The most that is written for the sources of one pull. A thousand of them with ordinary credentials need a twentieth of it;
/// a Secret has room for a password of a megabyte, which each of a thousand mirrors may ask for.
const MOST_BYTES: usize = 4 << 20;

/// What to write, and what could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthFileContent {
    /// The file's bytes.
    pub bytes: Sensitive<Vec<u8>>,
    /// The credential helpers that had to go, by host.
    pub helpers_left_out: Vec<HelperLeftOut>,
    /// The sources, by position, that have an empty entry because their credential would make the file too large.
    pub sources_left_out: Vec<usize>,
}

/// A credential helper of the global file that the written file does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperLeftOut {
    /// The host it answers for.
    pub host: String,
    /// The helper.
    pub name: String,
    /// The sources that relied on it, and now have no credential.
    pub sources: Vec<String>,
}

impl Selection<'_> {
    /// The auth file for the sources; none when no credential of the namespace was chosen, since the runtime
    /// then finds what was chosen in the global file itself.
    #[must_use]
    pub fn auth_file(&self) -> Option<AuthFileContent> {
        if self.chosen().iter().all(|chosen| chosen.candidate.is_none()) {
            return None;
        }
        let global = self.global.map(|file| file.document().clone());
        let mut document = global.unwrap_or_else(|| Document::empty(Format::Auths));
        let helpers_left_out = self.leave_out_helpers(&mut document);
        let (mut room, mut sources_left_out) = (MOST_BYTES, Vec::new());
        for (position, chosen) in self.chosen().iter().enumerate() {
            // Before the entry is made: to make a thousand that are a megabyte each takes seconds.
            let too_large =
                chosen.candidate.is_some_and(|candidate| candidate.entry.credential.size() > room);
            let entry = if too_large { None } else { self.entry_of(chosen) };
            let left = entry.as_ref().map(|entry| room.checked_sub(chosen.source.len() + entry.raw().len()));
            match (entry, left) {
                (Some(entry), Some(Some(left))) => {
                    room = left;
                    document.insert(chosen.source, entry);
                }
                (None, _) if !too_large => {}
                // Without an entry of its own, it would be shown what is there for another one.
                _ => {
                    document.insert(chosen.source, AuthEntry::nothing());
                    sources_left_out.push(position);
                }
            }
        }
        Some(AuthFileContent { bytes: document.render(), helpers_left_out, sources_left_out })
    }

    /// The entry that a source needs under its own name, if it needs one.
    fn entry_of(&self, chosen: &Chosen) -> Option<AuthEntry> {
        if let Some(candidate) = chosen.candidate {
            return Some(AuthEntry::holding(&candidate.entry.credential));
        }
        // Without its helper the host's leftover entries would come to life, which the node's owner never
        // meant to be used.
        if let Choice::None(Absence::HelperLeftOut { .. }) = chosen.choice {
            return Some(AuthEntry::nothing());
        }
        match self.global?.find(chosen.source) {
            Ok(Hit::Entry { entry, by_host: true, .. }) => Some(entry.clone()),
            _ => None,
        }
    }

    /// Removes the helper of each host that has an entry of the namespace, because the runtime would ask it
    /// first.
    fn leave_out_helpers(&self, document: &mut Document) -> Vec<HelperLeftOut> {
        if document.helpers().next().is_none() {
            return Vec::new();
        }
        let mut left_out: BTreeMap<&str, HelperLeftOut> = BTreeMap::new();
        for chosen in self.chosen().iter().filter(|chosen| chosen.candidate.is_some()) {
            let host = host_of(chosen.source);
            if let Some(name) = document.remove_helper(host) {
                left_out.insert(host, HelperLeftOut { host: host.to_owned(), name, sources: Vec::new() });
            }
        }
        for chosen in self.chosen().iter().filter(|chosen| chosen.candidate.is_none()) {
            if let Some(helper) = left_out.get_mut(host_of(chosen.source)) {
                helper.sources.push(chosen.source.to_owned());
            }
        }
        left_out.into_values().collect()
    }
}
