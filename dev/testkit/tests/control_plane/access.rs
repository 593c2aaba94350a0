//! Programs under test reach the API with their own permissions, through a cable that can be cut.

use std::error::Error;

use pullwright_testkit::{ControlPlane, kubectl::Kubectl};

use crate::folder;

const READER: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
";

#[test]
fn a_service_account_has_its_own_permissions_on_either_side_of_a_cable() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(&folder("access")?)?;
    plane.kubectl().apply(READER)?;
    let cable = plane.cable()?;
    for through in [None, Some(&cable)] {
        let reader = Kubectl::new(&plane.service_account_kubeconfig("default", "reader", through)?);
        reader.run(&["get", "configmaps"])?;
        let error = reader.run(&["get", "secrets"]).unwrap_err().to_string();
        assert!(error.contains("system:serviceaccount:default:reader\" cannot list"), "{error}");
    }

    let admin = Kubectl::new(&plane.kubeconfig_through(&cable, "somebody", Some("system:masters"))?);
    let whoami = admin.json(&["auth", "whoami"])?;
    assert_eq!(whoami["status"]["userInfo"]["username"], "somebody");
    cable.cut();
    let error = admin.run(&["get", "configmaps", "--request-timeout=1s"]).unwrap_err().to_string();
    assert!(error.to_lowercase().contains("timeout") || error.contains("deadline"), "{error}");
    plane.kubectl().run(&["get", "configmaps"])?;
    cable.mend();
    admin.run(&["get", "configmaps"])?;
    Ok(())
}
