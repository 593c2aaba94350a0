//! How the plugin's runs ended on this node: counted for Prometheus, and judged for people.

use std::collections::VecDeque;
use std::path::Path;

use pullwright_outcomes::{Counts, DEFAULT_FOLDER, Reason};

/// How many looks back the judgement goes: ten minutes, at four looks a minute.
const LOOKS: usize = 40;
/// So many failures may have passed by themselves: an API server that was restarted.
const FEW: u64 = 3;

/// The plugin on this node.
#[derive(Debug)]
pub(crate) struct Plugin {
    counts: Counts,
    judge: Judge,
}

impl Plugin {
    pub(crate) fn new(host: &Path) -> Self {
        let folder = host.join(DEFAULT_FOLDER.trim_start_matches('/'));
        Self { counts: Counts::new(&folder), judge: Judge::default() }
    }

    /// Reads what was counted since the last look.
    pub(crate) fn look(&mut self) -> std::io::Result<()> {
        let before: Vec<_> = self.counts.all().collect();
        self.counts.refresh()?;
        let new = self.counts.all().zip(before).map(|((reason, now), (_, before))| (reason, now - before));
        self.judge.add(new.filter(|(_, runs)| *runs > 0).collect());
        Ok(())
    }

    /// How many runs ended for each reason.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.counts.all()
    }

    /// What is wrong with it on this node, if anything is.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.judge.trouble()
    }
}

/// The runs of the last looks.
#[derive(Debug, Default)]
struct Judge(VecDeque<Vec<(Reason, u64)>>);

impl Judge {
    fn add(&mut self, runs: Vec<(Reason, u64)>) {
        self.0.push_back(runs);
        if self.0.len() > LOOKS {
            self.0.pop_front();
        }
    }

    /// At least half of the runs that could have provided something failed for what is wrong on the node. Only the reasons are told, and
    /// not how often: a message that changes with every pull would be a write for each.
    fn trouble(&self) -> Option<String> {
        let runs = || self.0.iter().flatten();
        let sum = |of: fn(Reason) -> bool| -> u64 {
            runs().filter(|(reason, _)| of(*reason)).map(|(_, runs)| runs).sum()
        };
        let (failed, provided) = (sum(Reason::blames_the_node), sum(Reason::provides));
        if failed < FEW || failed < provided {
            return None;
        }
        let mut reasons: Vec<_> =
            runs().map(|(reason, _)| *reason).filter(|reason| reason.blames_the_node()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let reasons: Vec<_> = reasons.into_iter().map(Reason::name).collect();
        Some(format!(
            "pulls go on without the plugin, which fails for what is wrong on this node: {}; its journal says more",
            reasons.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(looks: &[&[(Reason, u64)]]) -> Option<String> {
        let mut judge = Judge::default();
        for runs in looks {
            judge.add(runs.to_vec());
        }
        judge.trouble()
    }

    #[test]
    fn a_node_is_blamed_only_for_what_is_wrong_on_it() {
        assert_eq!(judged(&[]), None);
        assert_eq!(judged(&[&[(Reason::Forbidden, 100), (Reason::NoSecrets, 5)]]), None);
        assert_eq!(judged(&[&[(Reason::NoApiServer, 2)]]), None, "that may pass");
        assert_eq!(judged(&[&[(Reason::NoApiServer, 3), (Reason::WroteFile, 4)]]), None, "most work");
        let told =
            judged(&[&[(Reason::NoApiServer, 2), (Reason::WroteFile, 1)], &[(Reason::BadToken, 1)]]).unwrap();
        assert!(told.contains(": bad-token, no-api-server;"), "{told}");
    }

    #[test]
    fn what_is_long_past_does_not_count() {
        let mut looks: Vec<&[(Reason, u64)]> = vec![&[(Reason::NoAuthFile, 9)]];
        looks.extend([&[][..]; LOOKS - 1]);
        assert!(judged(&looks).is_some());
        looks.push(&[]);
        assert_eq!(judged(&looks), None);
    }
}
