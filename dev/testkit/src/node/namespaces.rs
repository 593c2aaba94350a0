//! The namespaces of a node: it has its own mounts, network, processes, IPC and host name.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    Error,
    error::Doing,
    node::cgroups,
    process::{Place, Service, only_child},
};

/// The script that sets up new namespaces.
const ENTER: &str = include_str!("enter.sh");

/// Namespaces that live as long as this value: when their first process dies, the kernel kills all others in them.
#[derive(Debug)]
pub(crate) struct Namespaces {
    _unshare: Service,
    init: u32,
}

/// The first process of new namespaces.
#[derive(Clone, Debug)]
pub(crate) struct Init {
    /// The command, which writes "running" to its log.
    pub(crate) command: Vec<String>,
    /// The machine's folders of which the node has copies on write, separated by spaces.
    pub(crate) own_folders: &'static str,
}

impl Namespaces {
    /// Makes namespaces with `init` as the first process.
    pub(crate) fn create(root: &Path, init: &Init) -> Result<Self, Error> {
        if let Some(controllers) = cgroups::mounted_controllers()? {
            let list = root.join("cgroups");
            fs::write(&list, controllers).doing("writing", &list)?;
        }
        let mut command: Command = Place::Host.command("unshare")?;
        command
            .args(["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--mount-proc"])
            .args(["--propagation", "private", "--kill-child", "--"])
            .args(["sh", "-c", ENTER, "enter.sh"])
            .arg(root)
            .arg(init.own_folders)
            .args(&init.command);
        let mut unshare = Service::start("namespaces", command, &root.join("logs"))?;
        unshare.wait_for_log("running", Duration::from_secs(10))?;
        let init = only_child(unshare.id())?;
        Ok(Self { _unshare: unshare, init })
    }

    /// The id of their first process.
    pub(crate) fn init(&self) -> u32 {
        self.init
    }

    /// The place where programs of the node run.
    pub(crate) fn place(&self) -> Place {
        Place::Inside(self.init)
    }

    /// Opens a port on this machine's loopback that leads to `port` on the loopback inside, as long as the namespaces exist.
    pub(crate) fn forward(&self, port: u16) -> Result<u16, Error> {
        let here = Path::new("127.0.0.1");
        let listener = TcpListener::bind(("127.0.0.1", 0)).doing("listening on", here)?;
        let forwarded = listener.local_addr().doing("listening on", here)?.port();
        let place = self.place();
        thread::spawn(move || {
            // The thread ends with the process: a connection after the end of the node finds no namespace and is closed.
            for client in listener.incoming().flatten() {
                thread::spawn(move || place.connect(port).and_then(|server| relay(client, server)));
            }
        });
        Ok(forwarded)
    }
}

/// Copies both ways until both ends are closed.
fn relay(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (up_from, up_to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || copy(up_from, up_to));
    let down = copy(server, client);
    let up = up.join().unwrap_or(Ok(()));
    down.and(up)
}

fn copy(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer)? {
            0 => return to.shutdown(Shutdown::Write),
            length => to.write_all(&buffer[..length])?,
        }
    }
}
