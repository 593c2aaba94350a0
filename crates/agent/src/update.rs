//! Brings a node from one configuration to another: files, then services, then proof. Without proof it goes back.
//!
//! Whatever ends this in the middle, the journal says where it was, and [`recover`] goes on from there before anything else is done.
//! That needs nobody but the node itself: a node whose API server is away is not left with half a configuration.

use std::future::Future;

use pullwright_api::NodeRuntime;
use thiserror::Error;

use crate::actions::{Action, Services, actions};
use crate::transaction::{
    Applied, Error as FilesError, Kept, NodePath, Recovery, Switched, Transactions, Undone, WantedFile,
};

/// The services of a node.
pub trait Machine {
    /// What it needs to know later of services that followed.
    type Followed;

    /// The unit that has the kubelet in it.
    fn kubelet_unit(&self, runtime: NodeRuntime) -> impl Future<Output = String>;

    /// Whether there is a unit of the image service now.
    fn has_images(&self) -> bool;

    /// Has services follow changed files.
    fn carry_out(&self, actions: &[Action]) -> impl Future<Output = Result<Self::Followed, String>>;

    /// Waits until what followed works, and says why if it does not.
    fn proof(&self, followed: Self::Followed) -> impl Future<Output = Result<(), String>>;
}

/// What became of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub enum Brought {
    /// The node has it, and had it before.
    Unchanged,
    /// The node has it now.
    Applied,
    /// It did not work. The node has what it had before.
    RolledBack {
        /// What did not work.
        why: String,
    },
}

/// Why the node has neither.
#[derive(Debug, Error)]
pub enum UpdateError {
    /// Files could not be switched. Every file is as it was before, unless the error says otherwise.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The files are back, but services could not follow.
    #[error(
        "{why}; every file is back as it was, but services could not follow: {undoing}; this is tried again"
    )]
    NotUndone {
        /// What did not work first.
        why: String,
        /// What did not work then.
        undoing: String,
    },
}

/// Goes on where an agent was ended. Returns the configuration that did not work, if that is what came out.
///
/// # Errors
/// If it still cannot be ended. Try again: nothing is lost.
pub async fn recover(
    transactions: &mut Transactions,
    machine: &impl Machine,
) -> Result<Option<(Option<String>, String)>, UpdateError> {
    let before = transactions.configuration().map(str::to_owned);
    match transactions.recover() {
        Recovery::Nothing(_) => Ok(None),
        Recovery::HalfApplied(half) => {
            let target = half.configuration().map(str::to_owned);
            tracing::info!(configuration = target, "going on with an update that was interrupted");
            let applied = half.finish()?;
            Ok(outcome(target, prove(applied, before.as_deref(), machine).await?))
        }
        Recovery::Applied(applied) => {
            let target = applied.configuration().map(str::to_owned);
            tracing::info!(configuration = target, "looking again whether an update works");
            Ok(outcome(target, prove(applied, before.as_deref(), machine).await?))
        }
        Recovery::HalfUndone(half) => {
            let undone = half.undo()?;
            settle(undone, before.as_deref(), machine).await
        }
        Recovery::Undone(undone) => settle(undone, before.as_deref(), machine).await,
    }
}

fn outcome(target: Option<String>, brought: Brought) -> Option<(Option<String>, String)> {
    match brought {
        Brought::RolledBack { why } => Some((target, why)),
        Brought::Unchanged | Brought::Applied => None,
    }
}

async fn settle(
    undone: Undone<'_>,
    before: Option<&str>,
    machine: &impl Machine,
) -> Result<Option<(Option<String>, String)>, UpdateError> {
    let target = undone.configuration().map(str::to_owned);
    let why = "it did not work, and the agent was ended while it went back".to_owned();
    Ok(Some((target, follow(undone, before, why, machine).await?)))
}

/// Brings a configuration to the node.
///
/// # Errors
/// If files cannot be switched, or services do not follow on the way back. Call [`recover`] before you try again.
pub async fn bring(
    transactions: &mut Transactions,
    configuration: &str,
    files: &[WantedFile],
    machine: &impl Machine,
) -> Result<Brought, UpdateError> {
    let before = transactions.configuration().map(str::to_owned);
    let Recovery::Nothing(idle) = transactions.recover() else {
        return Err(FilesError::Interrupted.into());
    };
    match idle.switch(configuration, files)? {
        Switched::Unchanged => Ok(Brought::Unchanged),
        Switched::Applied(applied) => prove(applied, before.as_deref(), machine).await,
    }
}

/// Brings every file back to what it was before the first configuration. Also returns the files that others changed, which stay.
///
/// # Errors
/// As [`bring`].
pub async fn restore(
    transactions: &mut Transactions,
    machine: &impl Machine,
) -> Result<(Brought, Vec<Kept>), UpdateError> {
    let before = transactions.configuration().map(str::to_owned);
    let Recovery::Nothing(idle) = transactions.recover() else {
        return Err(FilesError::Interrupted.into());
    };
    let restored = idle.restore_originals()?;
    let brought = match restored.switched {
        Switched::Unchanged => Brought::Unchanged,
        Switched::Applied(applied) => prove(applied, before.as_deref(), machine).await?,
    };
    Ok((brought, restored.kept))
}

/// Has services follow files that are switched, and commits if they work with them.
async fn prove(
    applied: Applied<'_>,
    before: Option<&str>,
    machine: &impl Machine,
) -> Result<Brought, UpdateError> {
    let actions = needed(applied.changed(), [applied.configuration(), before], machine).await;
    let works = match machine.carry_out(&actions).await {
        Ok(followed) => machine.proof(followed).await,
        Err(why) => Err(why),
    };
    match works {
        Ok(()) => {
            applied.commit()?;
            Ok(Brought::Applied)
        }
        Err(why) => {
            tracing::error!("going back to the files of before: {why}");
            let undone = applied.roll_back()?;
            let why = follow(undone, before, why, machine).await?;
            Ok(Brought::RolledBack { why })
        }
    }
}

/// Has services follow files that are back. Returns `why` with what is still wrong then.
async fn follow(
    undone: Undone<'_>,
    before: Option<&str>,
    mut why: String,
    machine: &impl Machine,
) -> Result<String, UpdateError> {
    let actions = needed(undone.changed(), [undone.configuration(), before], machine).await;
    let followed = match machine.carry_out(&actions).await {
        Ok(followed) => followed,
        Err(undoing) => return Err(UpdateError::NotUndone { why, undoing }),
    };
    // The files are those that worked before, so there is nothing left to go back to.
    if let Err(still) = machine.proof(followed).await {
        why.push_str(&format!("; it does not work with the files of before either: {still}"));
    }
    for path in undone.kept() {
        why.push_str(&format!("; {path} was changed by somebody else and stays as it is"));
    }
    undone.settle()?;
    Ok(why)
}

/// What changed files need. The runtime is in the name of the configuration that they are of, or of the one before.
async fn needed<'p>(
    changed: impl Iterator<Item = &'p NodePath>,
    configurations: [Option<&str>; 2],
    machine: &impl Machine,
) -> Vec<Action> {
    let changed: Vec<&str> = changed.map(NodePath::as_str).collect();
    let of = |name: &str| NodeRuntime::ALL.into_iter().find(|runtime| runtime.has_configuration(name));
    let Some(runtime) = configurations.into_iter().flatten().find_map(of) else {
        return Vec::new();
    };
    let kubelet = machine.kubelet_unit(runtime).await;
    actions(changed, Services { runtime, kubelet: &kubelet, images: machine.has_images() })
}
