//! `check`: one request from a file, and the plan that comes of it. Nothing is written for the runtime.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use pullwright_engine::credentials::Wanted;
use pullwright_engine::kubelet::{Namespace, Request};
use pullwright_engine::plan::{Inputs, plan};
use pullwright_nodefiles::NodeRoot;

use crate::error::Error;
use crate::options::Options;
use crate::report::Report;
use crate::run::{self, Env};
use crate::secrets::Asker;

/// Prints the plan for the request as JSON.
pub(crate) fn run(
    options: &Options,
    request: &Path,
    namespace: Option<Namespace>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<(), Error> {
    let text = fs::read(request).map_err(|source| Error::RequestFile { path: request.to_owned(), source })?;
    let request = Request::parse(&text)?;
    let claims = run::read_claims(&request)?;
    let named = claims.as_ref().map(|claims| claims.namespace.clone());
    let namespace = named.or(namespace).ok_or(Error::NoNamespace)?;
    let node = NodeRoot::this_machine();
    let report = Report::aloud();
    let env = Env { options, var, report: &report };
    let asker = claims.as_ref().map(|claims| Asker { request: &request, claims });
    // Every Secret is looked at closely: whoever asks wants to know what is wrong with them.
    let found = run::find_secrets(options, &node, asker, &namespace, &Wanted::anything(), Instant::now())?;
    found.lines().for_each(|why| report.passed_over(why));
    let plan = plan(&Inputs {
        image: request.image(),
        namespace: namespace.as_str(),
        secrets: &found.secrets,
        global: run::global_auth_file(&env, &node).as_ref(),
        registries: &run::registries(var, options, &node)?,
        // With files that CRI-O does not start with, its default is as good an answer as any.
        short_names: &node.short_name_rule().unwrap_or_default(),
        providers: None,
        plugin: "crio-credential-provider",
    })?;
    let mut out = serde_json::to_vec_pretty(&plan).map_err(|error| Error::Answer(error.into()))?;
    out.push(b'\n');
    std::io::stdout().write_all(&out).map_err(Error::Answer)
}
