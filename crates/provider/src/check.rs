//! `check`: prints what the plugin would do for a request in a file, as JSON. It writes nothing for the runtime.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use pullwright_engine::credentials::WantedRepositories;
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::plan::{ProvisionReport, provision};
use pullwright_nodefiles::NodeRoot;
use serde::Serialize;

use crate::error::Error;
use crate::options::Options;
use crate::run::{self, Env};
use crate::run_log::RunLog;
use crate::secrets::Asker;

/// The output of `check`.
#[derive(Serialize)]
struct Checked<'a> {
    /// The image, as the kubelet names it in its request.
    image: &'a str,
    namespace: &'a str,
    #[serde(flatten)]
    report: ProvisionReport,
}

/// Prints what a run would provide for the request.
pub(crate) fn run(
    options: &Options,
    request: &Path,
    namespace: Option<Namespace>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<(), Error> {
    let unreadable = |source| Error::RequestFile { path: request.to_owned(), source };
    let request = run::read_request(&mut File::open(request).map_err(unreadable)?, unreadable)?;
    let claims = run::read_claims(&request)?;
    let of_run = run::namespace_of(claims.as_ref(), options).cloned();
    let namespace = of_run.or(namespace).ok_or(Error::NoNamespace)?;
    let node = NodeRoot::this_machine();
    let report = RunLog::aloud();
    let env = Env { options, var, report: &report };
    let image = request.image();
    let sources = run::sources(&env, &node, image)?;
    let provided = match &sources {
        None => ProvisionReport::no_mirrors(),
        Some(sources) => {
            let asker = claims.as_ref().map(|claims| Asker { request: &request, claims });
            // A run skips the Secrets that do not name a host of the pull. A person who runs `check` also wants to know
            // what is wrong with those.
            let names = sources.iter().map(|source| source.reference.name());
            let wanted = WantedRepositories::of(names).in_every_document();
            let found = run::find_secrets(options, &node, asker, &namespace, &wanted, Instant::now())?;
            found.lines().for_each(|why| report.passed_over(why));
            let (global, delivery) = (run::global_auth_file(&env, &node), options.delivery);
            provision(image, sources, &found.secrets, global.as_ref(), delivery).report(delivery)
        }
    };
    let checked = Checked { image, namespace: namespace.as_str(), report: provided };
    let mut out = serde_json::to_vec_pretty(&checked).map_err(|error| Error::Answer(error.into()))?;
    out.push(b'\n');
    std::io::stdout().write_all(&out).map_err(Error::Answer)
}
