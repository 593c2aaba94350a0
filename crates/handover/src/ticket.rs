//! Tickets: a file that goes to one pull, not to whoever pulls that image for that namespace next.
//!
//! A runtime that takes a file by its name cannot tell who pulls. If both sides are ours, they can: the plugin answers
//! the kubelet with a ticket instead of a credential, the kubelet passes it on with exactly the pull that it asked for,
//! and the image service takes exactly the file of that ticket. Nobody queues, and a pull without a ticket gets no
//! file.

use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::RenameFlags;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::claim::{Claim, ClaimError};
use crate::folder::{AuthFolder, FolderError};
use crate::handover::Handover;
use crate::lock::{LockError, TicketLock};
use crate::name::{AuthFileName, hex, is_lower_hex, random};
use crate::put::{PutError, Tidying};
use crate::sweeper::SweeperCommand;
use crate::temporary::Temporary;
use crate::within::Within;

/// How long a put waits for an image service that is restarting.
const RESTART: Duration = Duration::from_secs(5);
/// How often it checks meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// How many bytes of the ticket's SHA-256 appear in the file's name.
const SHOWN: usize = 16;

/// A ticket: 128 random bits. To anybody who can reach the image service it is worth a credential, so it is never
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(String);

impl Ticket {
    /// The user name that marks the password as a ticket. A registry would see it if a ticket ever reached one.
    pub const USERNAME: &str = "pullwright-ticket";

    /// Creates a new ticket.
    fn mint() -> io::Result<Self> {
        Ok(Self(hex(&random()?)))
    }

    /// Parses the output of [`Ticket::expose`]; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(is_lower_hex)).then(|| Self(text.to_owned()))
    }

    /// The ticket itself. Give it to the kubelet and to nobody else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The name of the ticket's file in `tickets/`. The name ties the ticket to one namespace and one repository.
    /// Reading it, in a log for example, does not reveal the ticket.
    #[must_use]
    pub fn file_name(&self, name: &AuthFileName) -> String {
        name.for_ticket(&hex(&Sha256::digest(&self.0)[..SHOWN]))
    }
}

/// Hides the ticket, which is worth a credential.
impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket([redacted])")
    }
}

/// Why there is no ticket. Nothing of its file is left.
#[derive(Debug, Error)]
pub enum TicketError {
    /// No image service takes tickets, so the ticket would be sent to a registry as a password.
    #[error(
        "no image service takes tickets for {folder:?}: start pullwright-images with the same --auth-dir and --lock-dir, and \
         point the kubelet's imageServiceEndpoint at it; for CRI-O use --deliver file"
    )]
    NobodyTakes {
        /// The auth folder.
        folder: std::path::PathBuf,
    },
    /// The file was not put.
    #[error(transparent)]
    Put(#[from] PutError),
    /// `tickets/` cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// A file that has been put for a ticket.
#[derive(Debug)]
pub struct PutForTicket {
    /// The ticket to give to the kubelet.
    pub ticket: Ticket,
    /// The path of the file until the ticket is shown.
    pub path: std::path::PathBuf,
    /// How the cleanup went.
    pub tidying: Tidying,
}

/// Held by the image service while it takes tickets.
#[derive(Debug)]
pub struct TicketTaker {
    _lock: TicketLock,
}

impl Handover {
    /// Announces, for as long as the result is held, that this process takes tickets. Plugins give out tickets only
    /// while some process does. Waits as long as another process takes them.
    ///
    /// # Errors
    /// A [`LockError`] if the lock that announces it cannot be taken.
    pub fn take_tickets(&self) -> Result<TicketTaker, LockError> {
        Ok(TicketTaker { _lock: self.locks.take_tickets()? })
    }

    /// Puts `content` for one pull of `name`: whoever shows the ticket gets it, once.
    ///
    /// # Errors
    /// A [`TicketError`]; then nothing of the file is left in the folder.
    pub fn put_for_ticket(
        &self,
        name: &AuthFileName,
        content: &[u8],
        deadline: Instant,
        sweeper: &SweeperCommand,
    ) -> Result<PutForTicket, TicketError> {
        self.wait_for_taker(deadline)?;
        let present = self.locks.present(deadline).map_err(PutError::from)?;
        // Before any credential is on disk: if we are killed after this, a sweeper is there to clean up.
        let sweeper = self.ensure_sweeper(&present, sweeper);
        let swept = self.sweep(&present, SystemTime::now());
        let tickets = Within::Tickets.open_or_create(&self.folder)?;
        let write = |source| PutError::Write { folder: tickets.path().to_owned(), source };
        let ticket = Ticket::mint().map_err(write)?;
        let mut temporary = Temporary::write(&tickets, content).map_err(write)?;
        let file = ticket.file_name(name);
        temporary.move_to(&file, RenameFlags::NOREPLACE).map_err(|errno| PutError::Move {
            from: temporary.path(),
            path: tickets.path_of(&file),
            source: errno.into(),
        })?;
        Ok(PutForTicket { ticket, path: tickets.path_of(&file), tidying: Tidying { sweeper, swept } })
    }

    /// Waits for an image service, which may be restarting.
    fn wait_for_taker(&self, deadline: Instant) -> Result<(), TicketError> {
        let until = deadline.min(Instant::now() + RESTART);
        while !self.locks.tickets_are_taken().map_err(PutError::from)? {
            if Instant::now() >= until {
                return Err(TicketError::NobodyTakes { folder: self.folder.path().to_owned() });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl AuthFolder {
    /// Takes the file of `ticket` for one pull of `name`; `None` if it was taken before, has expired, or was put for
    /// another name.
    ///
    /// # Errors
    /// A [`ClaimError`] if something is there that cannot be taken.
    pub fn claim_ticket(&self, name: &AuthFileName, ticket: &Ticket) -> Result<Option<Claim>, ClaimError> {
        let Some(tickets) = Within::Tickets.open(self)? else { return Ok(None) };
        self.claim_from(&tickets, &ticket.file_name(name), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_reads_back_and_nothing_else_is_one() {
        let ticket = Ticket::mint().unwrap();
        assert_eq!(Ticket::parse(ticket.expose()), Some(ticket.clone()));
        assert_ne!(ticket, Ticket::mint().unwrap());
        let upper = ticket.expose().to_ascii_uppercase().replace(|c: char| c.is_ascii_digit(), "A");
        for other in ["", "secret", &ticket.expose()[1..], &format!("{}0", ticket.expose()), &upper] {
            assert_eq!(Ticket::parse(other), None, "{other}");
        }
    }

    #[test]
    fn neither_debug_nor_the_name_of_its_file_shows_a_ticket() {
        let ticket = Ticket::mint().unwrap();
        let name = AuthFileName::new(&"default".parse().unwrap(), "quay.io/x").unwrap();
        assert_eq!(format!("{ticket:?}"), "Ticket([redacted])");
        assert!(!ticket.file_name(&name).contains(ticket.expose()));
    }
}
