//! The ways to the API: kubeconfigs for the administrator, for components and for programs under test.

use std::path::{Path, PathBuf};

use super::ControlPlane;
use crate::{
    Cable, Error,
    kubectl::{Credential, Kubectl, write_kubeconfig},
};

impl ControlPlane {
    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// `kubectl` as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubeconfig)
    }

    /// Writes a kubeconfig for a component that runs next to kube-apiserver.
    pub fn component_kubeconfig(
        &self,
        component: &str,
        user: &str,
        group: Option<&str>,
    ) -> Result<PathBuf, Error> {
        let identity = self.authority.client(component, user, group)?;
        let path = self.root.join(format!("{component}.kubeconfig"));
        let server = format!("https://127.0.0.1:{}", self.ports.api);
        write_kubeconfig(&path, &server, &self.ca(), &identity.into())?;
        Ok(path)
    }

    /// A cable to kube-apiserver. Programs reach it through the cable with [`ControlPlane::kubeconfig_through`] or
    /// [`ControlPlane::service_account_kubeconfig`].
    pub fn cable(&self) -> Result<Cable, Error> {
        Cable::to(self.ports.api_from_here)
    }

    /// Writes a kubeconfig for a user with a certificate, whose requests go through `cable`.
    pub fn kubeconfig_through(
        &self,
        cable: &Cable,
        user: &str,
        group: Option<&str>,
    ) -> Result<PathBuf, Error> {
        // A name of its own for each cable, since two replicas of a program may be the same user.
        let file = format!("{}-through-{}", user.replace([':', '/'], "-"), cable.port());
        let identity = self.authority.client(&file, user, group)?;
        let path = self.root.join(format!("{file}.kubeconfig"));
        write_kubeconfig(&path, &cable.server(), &self.ca(), &identity.into())?;
        Ok(path)
    }

    /// Writes a kubeconfig with the token that the Pod `pod` has: one of its ServiceAccount, bound to it and so to its node.
    pub fn pod_kubeconfig(&self, namespace: &str, account: &str, pod: &str) -> Result<PathBuf, Error> {
        let bound = ["--bound-object-kind", "Pod", "--bound-object-name", pod, "--namespace", namespace];
        let token = self.kubectl().run(&[&["create", "token", account], &bound[..]].concat())?;
        let path = self.root.join(format!("pod-{namespace}-{pod}-{account}.kubeconfig"));
        write_kubeconfig(&path, &self.server(), &self.ca(), &Credential::Token(token.trim().to_owned()))?;
        Ok(path)
    }

    /// Writes a kubeconfig with a token of a ServiceAccount, which must exist: a program that uses it has the permissions of
    /// that ServiceAccount and no others.
    pub fn service_account_kubeconfig(
        &self,
        namespace: &str,
        name: &str,
        through: Option<&Cable>,
    ) -> Result<PathBuf, Error> {
        let token = self.kubectl().run(&["create", "token", name, "--namespace", namespace])?;
        let (server, way) = match through {
            Some(cable) => (cable.server(), format!("-through-{}", cable.port())),
            None => (self.server(), String::new()),
        };
        let path = self.root.join(format!("service-account-{namespace}-{name}{way}.kubeconfig"));
        write_kubeconfig(&path, &server, &self.ca(), &Credential::Token(token.trim().to_owned()))?;
        Ok(path)
    }
}
