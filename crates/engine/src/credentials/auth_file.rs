//! The auth file for one pull. With its content, the runtime's lookup finds exactly the chosen credential for every
//! source.
//!
//! Why this holds: every source with a credential from the namespace has an entry under its own full name, which is the
//! first key that the lookup tries. No other source uses that entry, because a source below it is in the same scope and
//! has an entry of its own. What the global file answers by a key above the source stays unchanged. What it answers by
//! host (`https://index.docker.io/v1/`, where Go picks any of several) also gets an entry under the source's name, so
//! nothing written here can change it.

use std::collections::BTreeMap;

use super::document::{Document, Format};
use super::entry::AuthEntry;
use super::lookup::{Hit, host_of};
use super::select::{Absence, Choice, Chosen, Selection};
use super::sensitive::Sensitive;

/// The most bytes to write for the sources of one pull. A thousand sources with ordinary credentials need a twentieth
/// of it, but a Secret has room for a password of a megabyte, which a thousand mirrors may each need.
const MOST_BYTES: usize = 4 << 20;

/// What to write, and what was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthFileContent {
    /// The file's bytes.
    pub bytes: Sensitive<Vec<u8>>,
    /// The credential helpers that had to be removed, by host.
    pub helpers_left_out: Vec<HelperLeftOut>,
    /// The positions of the sources that have an empty entry because their credential would make the file too large.
    pub sources_left_out: Vec<usize>,
}

/// A credential helper of the global file that is missing from the written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperLeftOut {
    /// The host that it answers for.
    pub host: String,
    /// The helper.
    pub name: String,
    /// The sources that relied on it and now have no credential.
    pub sources: Vec<String>,
}

impl Selection<'_> {
    /// Returns the auth file for the sources. Returns `None` if no credential of the namespace was chosen, because the
    /// runtime then finds the chosen credentials in the global file itself.
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
            // Checked before the entry is built: building a thousand entries of a megabyte each takes seconds.
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
                // Without an entry of its own, the source would be sent the credential of another one.
                _ => {
                    document.insert(chosen.source, AuthEntry::nothing());
                    sources_left_out.push(position);
                }
            }
        }
        Some(AuthFileContent { bytes: document.render(), helpers_left_out, sources_left_out })
    }

    /// Returns the entry that a source needs under its own name, if any.
    fn entry_of(&self, chosen: &Chosen) -> Option<AuthEntry> {
        if let Some(candidate) = chosen.candidate {
            return Some(AuthEntry::holding(&candidate.entry.credential));
        }
        // Without the helper, leftover entries for the host would take effect, which the node's owner never meant to be
        // used.
        if let Choice::None(Absence::HelperLeftOut { .. }) = chosen.choice {
            return Some(AuthEntry::nothing());
        }
        match self.global?.find(chosen.source) {
            Ok(Hit::Entry { entry, by_host: true, .. }) => Some(entry.clone()),
            _ => None,
        }
    }

    /// Removes the helper of each host that has an entry from the namespace, because the runtime would run the helper
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
