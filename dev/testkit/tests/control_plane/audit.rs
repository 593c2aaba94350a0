//! The audit log tells who wrote what, in which order, across restarts of kube-apiserver.

use std::{error::Error, time::Duration};

use pullwright_testkit::{ControlPlane, control_plane::AuditEntry, process::wait_until};

use crate::folder;

/// Waits until the log has a completed entry like this.
fn wait_for(plane: &ControlPlane, what: impl Fn(&AuditEntry) -> bool) -> Result<AuditEntry, Box<dyn Error>> {
    let found = wait_until("the audit log has the entry", Duration::from_secs(20), || {
        let entries = plane.audit_log().entries().map_err(|error| error.to_string())?;
        let found = entries.iter().find(|&entry| entry.completed.is_some() && what(entry)).cloned();
        found.ok_or_else(|| format!("{:#?}", entries.last()))
    });
    Ok(found?)
}

fn lease(name: &str, holder: &str) -> String {
    format!(
        "{{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {{name: {name}, namespace: default}}, \
         spec: {{holderIdentity: {holder}}}}}"
    )
}

#[test]
fn the_audit_log_has_the_order_of_writes_and_goes_on_after_a_restart() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("audit")?)?;
    plane.kubectl().apply(&lease("turn", "one"))?;
    plane.kubectl().apply(&lease("turn", "two"))?;
    plane.kubectl().run(&["get", "lease", "turn", "--namespace=nowhere"]).unwrap_err();

    let mine = |entry: &AuditEntry| entry.name.as_deref() == Some("turn");
    let second = wait_for(&plane, |entry| entry.holder.as_deref() == Some("two"))?;
    let entries = plane.audit_log().entries()?;
    let writes: Vec<_> = entries.iter().filter(|&entry| mine(entry) && entry.is_write()).collect();
    let holders: Vec<_> = writes.iter().filter_map(|entry| entry.holder.as_deref()).collect();
    assert_eq!(holders, ["one", "two"]);
    assert!(writes.iter().all(|entry| entry.succeeded()), "{writes:#?}");
    assert_eq!(second.resource.as_deref(), Some("leases.coordination.k8s.io"));
    assert_eq!(
        (second.namespace.as_deref(), &*second.user, second.subresource),
        (Some("default"), "admin", None)
    );
    assert!(second.user_agent.starts_with("kubectl/"), "{}", second.user_agent);
    assert!(second.completed.unwrap().at >= second.received);
    let missed = wait_for(&plane, |entry| entry.namespace.as_deref() == Some("nowhere"))?;
    assert_eq!((&*missed.verb, missed.completed.unwrap().code, missed.is_write()), ("get", 404, false));
    let reader = |entry: &&AuditEntry| entry.user == "system:apiserver" && !entry.is_write();
    assert_eq!(entries.iter().find(reader), None);

    let mark = plane.audit_log().mark();
    plane.stop_api_server();
    plane.start_api_server()?;
    plane.kubectl().apply(&lease("turn", "three"))?;
    wait_for(&plane, |entry| entry.holder.as_deref() == Some("three"))?;
    let all = plane.audit_log().entries()?;
    let holders: Vec<_> =
        all.iter().filter(|&entry| mine(entry)).filter_map(|entry| entry.holder.as_deref()).collect();
    assert_eq!(holders, ["one", "two", "three"]);
    let later = plane.audit_log().since(mark)?;
    let holders: Vec<_> =
        later.iter().filter(|&entry| mine(entry)).filter_map(|entry| entry.holder.as_deref()).collect();
    assert_eq!(holders, ["three"]);
    Ok(())
}
