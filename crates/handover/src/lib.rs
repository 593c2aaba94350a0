//! Both sides of the auth-file contract between a kubelet credential plugin and a container runtime.
//!
//! Each namespace and repository share one file name, and a runtime takes the file away when it starts a pull. So N
//! parallel pulls need N files in turn, and a file that no pull claims must not stay.
//!
//! ```text
//! plugin                          auth folder                            runtime
//! Handover::put ── temporary ──► <namespace>-<sha256>.json ── claim ──► in-use/<namespace>-<sha256>-<uuid>.json
//!      │ starts                        ▲                                            ▲
//!      └──────► Handover::run_sweeper ─┴── removes what stood too long ─────────────┘
//! ```
//!
//! A plugin puts a file, and is started again as the sweeper:
//!
//! ```no_run
//! # use std::{path::Path, time::Instant};
//! # use pullwright_handover::*;
//! # fn plugin(auths: &[u8], sweep: bool) -> Result<(), Box<dyn std::error::Error>> {
//! let (auth, locks) = (Path::new(DEFAULT_AUTH_FOLDER), Path::new(DEFAULT_LOCK_FOLDER));
//! if sweep {
//!     close_inherited();
//! }
//! let handover = Handover::open(auth, locks, Bounds::default())?;
//! if sweep {
//!     return Ok(handover.run_sweeper(|_swept| ())?);
//! }
//! let name = AuthFileName::new(&"app-team-alpha".parse()?, "docker.io/library/nginx")?;
//! let deadline = Instant::now() + Handover::PUT_TIME;
//! let put = handover.put(&name, auths, deadline, &SweeperCommand::new(["sweep"]))?;
//! eprintln!("Wrote auth file to {}", put.path.display());
//! # Ok(())
//! # }
//! ```
//!
//! A runtime claims a file once for each pull:
//!
//! ```no_run
//! # use std::path::Path;
//! # use pullwright_handover::*;
//! # fn pull_with(_auths: &[u8]) {}
//! # fn runtime(namespace: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let folder = AuthFolder::open(Path::new(DEFAULT_AUTH_FOLDER))?;
//! let name = AuthFileName::new(&namespace.parse()?, "docker.io/library/nginx")?;
//! if let Some(claim) = folder.claim(&name)? {
//!     pull_with(&claim.read()?);
//! } // the file is removed here, also after an error or a panic
//! # Ok(())
//! # }
//! ```

mod age;
mod claim;
mod due;
mod folder;
mod handed;
mod handover;
mod lock;
mod name;
mod put;
mod sweep;
mod sweeper;
mod temporary;
mod ticket;
mod watch;
mod within;

pub use claim::{Claim, ClaimError};
pub use due::{FileState, SweepBounds};
pub use folder::{AuthFolder, FileKind, FolderError};
pub use handover::{Bounds, Handover};
pub use lock::LockError;
pub use name::{AuthFileName, NoImage};
pub use pullwright_engine::kubelet::Namespace;
pub use put::{Earlier, Put, PutError, Tidying};
pub use sweep::{Removed, SweepError, Swept};
pub use sweeper::{SweeperCommand, SweeperError, close_inherited};
pub use ticket::{PutForTicket, Ticket, TicketError, TicketTaker};

/// Where CRI-O looks for auth files unless its `namespaced_auth_dir` names another folder.
pub const DEFAULT_AUTH_FOLDER: &str = "/etc/crio/auth";

/// Where plugins queue by default: on a file system that a reboot empties, and outside the auth folder so that a
/// runtime never sees a lock.
pub const DEFAULT_LOCK_FOLDER: &str = "/run/crio-credential-provider/locks";
