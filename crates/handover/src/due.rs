//! Decides which of our files have been there too long.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use crate::age::age;
use crate::name::{self, AuthFileName};

/// How long our files may stay before they are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepBounds {
    /// A file that no runtime has claimed: 2 s.
    ///
    /// While the file is there, whoever pulls that image for that namespace gets it, even a Pod that may not read the
    /// Secret. A runtime takes the file within milliseconds, unless the kubelet pulls one image at a time (its default,
    /// `serializeImagePulls`): then it runs the plugin first and waits behind other pulls, possibly for minutes.
    pub unclaimed: Duration,
    /// A file for a ticket: 5 min.
    ///
    /// Only the pull that has the ticket can use the file, so it can wait for a kubelet that pulls one image at a time.
    /// Five minutes is also the kubelet's longest back-off, after which it runs the plugin again in any case.
    pub ticket: Duration,
    /// A file that was being written: 60 s, by which time the kubelet has killed the plugin that wrote it. This must be
    /// longer than a put may take, or the sweep removes a file that a plugin is still waiting to move.
    pub temporary: Duration,
    /// A file in `in-use/`: 1 h.
    ///
    /// A runtime removes the file when its pull is over, so it stays longer only if the runtime died or the pull is
    /// very long. Even then nobody misses it: the runtime reads it when it first asks a registry, not for each layer.
    pub in_use: Duration,
}

impl Default for SweepBounds {
    fn default() -> Self {
        Self {
            unclaimed: Duration::from_secs(2),
            ticket: Duration::from_mins(5),
            temporary: Duration::from_mins(1),
            in_use: Duration::from_hours(1),
        }
    }
}

impl SweepBounds {
    fn of(self, kind: FileState) -> Duration {
        match kind {
            FileState::Unclaimed => self.unclaimed,
            FileState::Ticket => self.ticket,
            FileState::Temporary => self.temporary,
            FileState::InUse => self.in_use,
        }
    }
}

/// How far a file has come in the hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Put, and not claimed yet.
    Unclaimed,
    /// Put for a ticket that has not been shown yet.
    Ticket,
    /// Being written.
    Temporary,
    /// Claimed by a runtime.
    InUse,
}

/// Tells the state of a file from its name; `None` if the file is not ours.
pub(crate) type StateOf = fn(&str) -> Option<FileState>;

/// One of our files, found in the auth folder or in a folder inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) kind: FileState,
    pub(crate) name: String,
    pub(crate) since: SystemTime,
}

/// Which files to remove now, and how long until the next one is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SweepPlan {
    pub(crate) remove: Vec<FoundFile>,
    pub(crate) next: Option<Duration>,
}

/// How many tickets of one namespace may wait: more than a node has Pods. A namespace whose Pods are in back-off gets a
/// new ticket for each attempt, and these must not fill the disk.
const MOST_TICKETS: usize = 512;

pub(crate) fn plan(found: Vec<FoundFile>, bounds: SweepBounds, now: SystemTime) -> SweepPlan {
    let crowded_out = crowded_out(&found);
    let left = |file: &FoundFile| {
        if crowded_out.contains(&file.name) {
            return Duration::ZERO;
        }
        bounds.of(file.kind).saturating_sub(age(file.since, now))
    };
    let (remove, keep): (Vec<_>, Vec<_>) = found.into_iter().partition(|file| left(file).is_zero());
    SweepPlan { next: keep.iter().map(left).min(), remove }
}

/// The oldest tickets of each namespace that has too many.
fn crowded_out(found: &[FoundFile]) -> HashSet<String> {
    let mut tickets: Vec<_> = found.iter().filter(|file| file.kind == FileState::Ticket).collect();
    if tickets.len() <= MOST_TICKETS {
        return HashSet::new();
    }
    tickets.sort_by_key(|file| Reverse(file.since));
    let mut newer = HashMap::new();
    let mut crowded_out = HashSet::new();
    for file in tickets {
        let newer = newer.entry(name::namespace_of_ticket(&file.name)).or_insert(0);
        *newer += 1;
        if *newer > MOST_TICKETS {
            crowded_out.insert(file.name.clone());
        }
    }
    crowded_out
}

/// The state of a file in the auth folder, from its name.
pub(crate) fn of_auth_folder(name: &str) -> Option<FileState> {
    if name::is_temporary(name) {
        Some(FileState::Temporary)
    } else {
        AuthFileName::parse(name).map(|_| FileState::Unclaimed)
    }
}

/// The state of a file in `tickets/`, from its name.
pub(crate) fn of_tickets(name: &str) -> Option<FileState> {
    if name::is_temporary(name) {
        Some(FileState::Temporary)
    } else {
        name::namespace_of_ticket(name).map(|_| FileState::Ticket)
    }
}

/// The state of a file in `in-use/`, from its name.
pub(crate) fn of_in_use(name: &str) -> Option<FileState> {
    name::is_claimed(name).then_some(FileState::InUse)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const BOUNDS: SweepBounds = SweepBounds {
        unclaimed: Duration::from_secs(30),
        ticket: Duration::from_mins(5),
        temporary: Duration::from_mins(1),
        in_use: Duration::from_hours(1),
    };

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn found(kind: FileState, since: u64) -> FoundFile {
        FoundFile { kind, name: format!("{kind:?} {since}"), since: at(since) }
    }

    fn removed_at(now: u64, found: &[FoundFile]) -> (Vec<String>, Option<u64>) {
        let plan = plan(found.to_vec(), BOUNDS, at(now));
        (plan.remove.into_iter().map(|file| file.name).collect(), plan.next.map(|next| next.as_secs()))
    }

    #[test]
    fn each_kind_goes_at_its_own_bound_and_the_next_one_is_known() {
        let files = [
            found(FileState::Unclaimed, 1000),
            found(FileState::Temporary, 1000),
            found(FileState::InUse, 1000),
        ];
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(removed_at(1000, &files), (vec![], Some(30)));
        assert_eq!(removed_at(1029, &files), (vec![], Some(1)));
        assert_eq!(removed_at(1030, &files), (names(&["Unclaimed 1000"]), Some(30)));
        assert_eq!(removed_at(1060, &files), (names(&["Unclaimed 1000", "Temporary 1000"]), Some(3540)));
        assert_eq!(removed_at(4600, &files).1, None, "nothing is left");
        assert_eq!(removed_at(4600, &files).0.len(), 3);
    }

    #[test]
    fn of_too_many_tickets_of_one_namespace_the_oldest_go() {
        let ticket = |namespace: &str, nth: u64| {
            let name = format!("{namespace}-{}-{nth:032x}.json", "0".repeat(64));
            FoundFile { kind: FileState::Ticket, name, since: at(1000) + Duration::from_millis(nth) }
        };
        let mut files: Vec<_> = (0..MOST_TICKETS as u64 + 3).map(|nth| ticket("crowd", nth)).collect();
        files.push(ticket("crowd-of-two", 0));
        let (removed, _) = removed_at(1001, &files);
        let oldest: Vec<_> = (0..3).map(|nth| ticket("crowd", nth).name).collect();
        assert!(removed == oldest, "{} of them", removed.len());
        assert!(removed_at(1001, &files[3..]).0.is_empty());
    }

    #[test]
    fn an_empty_folder_has_nothing_due() {
        assert_eq!(removed_at(1000, &[]), (vec![], None));
    }

    #[test]
    fn a_clock_set_back_keeps_no_credential_for_ever() {
        // Set back by an hour: removed at once. By ten seconds: removed once the clock is thirty seconds past the
        // file's time.
        assert_eq!(removed_at(1000, &[found(FileState::Unclaimed, 4600)]).0.len(), 1);
        let (removed, next) = removed_at(1000, &[found(FileState::Unclaimed, 1010)]);
        assert_eq!((removed.len(), next), (0, Some(20)));
    }

    #[test]
    fn what_is_not_ours_by_name_is_not_even_looked_at() {
        for name in ["config.json", "in-use", ".auth-.tmp", ".hidden", "README.md"] {
            assert_eq!((of_auth_folder(name), of_in_use(name)), (None, None), "{name}");
        }
    }
}
