//! A node whose first process is systemd: its units behave as on a real machine, and a Pod can restart them.

use std::error::Error;

use pullwright_testkit::{
    node::{Runtime, SystemdNode},
    scenario::SystemdCase,
};

type Outcome = Result<(), Box<dyn Error>>;

const EACH: &[Runtime] = &[Runtime::Containerd, Runtime::Crio];

pub(crate) const CASES: [SystemdCase; 1] = [
    SystemdCase { name: "systemd_restarts_a_killed_kubelet", runtimes: EACH, play: killed_kubelet },
];

fn killed_kubelet(node: &SystemdNode<'_>) -> Outcome {
    let before = node.unit("kubelet.service")?;
    assert_eq!(before.active, "active");
    node.systemctl(&["kill", "--signal=KILL", "kubelet.service"])?;
    std::thread::sleep(std::time::Duration::from_secs(2));
    node.wait_ready()?;
    let after = node.unit("kubelet.service")?;
    assert_eq!(after.n_restarts, before.n_restarts + 1);
    assert_ne!(after.main_pid, before.main_pid);
    Ok(())
}
