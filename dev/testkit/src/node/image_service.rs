//! The image service in front of containerd, which uses the credentials that plugins hand over.

use std::time::Duration;

use crate::{
    Error,
    node::{AUTH_FOLDER, GLOBAL_AUTH_FILE, Node, Runtime, mirrors::HOSTS_FOLDER},
    process::Service,
};

/// The program, and its name among the node's services.
pub(super) const PROGRAM: &str = "pullwright-images";
/// The path of its socket inside the node.
pub(super) const SOCKET: &str = "/run/pullwright-images.sock";

impl Node<'_> {
    /// Kills the program that uses the credentials that plugins hand over, like `kill -9`: the image service if the node has
    /// one, otherwise the runtime.
    pub fn kill_taker(&self) {
        match self.runtime() {
            Runtime::ContainerdWithImages => drop(self.image_service.take()),
            Runtime::Containerd | Runtime::Crio => self.kill_runtime(),
        }
    }

    /// Starts that program again and waits until it serves.
    pub fn start_taker(&self) -> Result<(), Error> {
        match self.runtime() {
            Runtime::ContainerdWithImages => self.start_image_service(),
            Runtime::Containerd | Runtime::Crio => self.start_runtime(),
        }
    }

    pub(super) fn start_image_service(&self) -> Result<(), Error> {
        let mut command = self.place().command(PROGRAM)?;
        command
            .args(["--listen", SOCKET])
            .args(["--containerd", self.runtime().socket()])
            .args(["--auth-dir", AUTH_FOLDER])
            .args(["--certs-d", HOSTS_FOLDER])
            .args(["--global-auth-file", GLOBAL_AUTH_FILE])
            // As short as for the plugin in the tests.
            .args(["--remove-tickets-after", "10", "--remove-in-use-after", "20"]);
        let mut service = Service::start(PROGRAM, command, &self.root().join("logs"))?;
        service.wait_for_log("serving on", Duration::from_secs(30))?;
        self.image_service.replace(Some(service));
        Ok(())
    }
}
