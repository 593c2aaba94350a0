//! Serves one request, from standard input to standard output.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pullwright_engine::credentials::{AuthFile, DocumentError, WantedRepositories};
use pullwright_engine::kubelet::{Claims, Namespace, Request, Response};
use pullwright_engine::plan::{Delivery, Provided, provision, provision_sources};
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{LoaderEnv, PullSource, RegistriesConf};
use pullwright_handover::{AuthFileName, FolderError, Handover, SweeperCommand, close_inherited};
use pullwright_nodefiles::{LoadError, NodeRoot};

use crate::answer;
use crate::apart;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::options::{Options, SecretsFrom};
use crate::outcome::PluginOutcome;
use crate::run_log::RunLog;
use crate::secrets::{self, Api, Asker, FoundSecrets, SecretsError};
use crate::shown::shown;
use crate::tidying;

/// The largest request to read: a token and annotations of at most 256 KiB in all, and room to spare.
pub(crate) const REQUEST_MAX: u64 = 4 << 20;

/// How long a whole run may take: the kubelet kills a plugin after 60 s.
const RUN_TIME: Duration = Duration::from_secs(55);
/// The largest global auth file to read. It becomes part of every file that is written, and a runtime reads no file of
/// more than 16 MiB.
const GLOBAL_MAX: u64 = 4 << 20;

/// How many characters of an image's name to repeat. A valid name is shorter: 255 letters after a host of the same
/// length.
const IMAGE_SHOWN: usize = 600;

/// What a run depends on besides the request.
pub struct Env<'a> {
    /// The options.
    pub options: &'a Options,
    /// The process's environment.
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    /// Receives progress and errors.
    pub report: &'a RunLog,
}

/// Serves one request from the kubelet.
///
/// # Errors
/// If the request cannot be served. Having nothing to provide is not an error.
pub fn run(env: &Env<'_>, mut stdin: impl Read, mut stdout: impl Write) -> Result<PluginOutcome, Error> {
    let begun = Instant::now();
    env.report.step("Running credential provider");
    env.report.step("Reading from stdin");
    let request = read_request(&mut stdin, Error::Input)?;
    let image = shown(request.image(), IMAGE_SHOWN);
    env.report.about_image(&image);
    env.report.step(format_args!("Parsed credential provider request for image {image:?}"));
    let deadline = begun + RUN_TIME;
    let provided = provide(env, &request, begun, deadline);
    let (outcome, response) = apart::keep(env, &request, provided, deadline)?;
    stdout.write_all(response.render().as_bytes()).and_then(|()| stdout.flush()).map_err(Error::Answer)?;
    Ok(outcome)
}

/// Reads a request, and no more of it than a kubelet sends.
pub(crate) fn read_request(
    input: &mut impl Read,
    unreadable: impl FnOnce(io::Error) -> Error,
) -> Result<Request, Error> {
    let mut text = Vec::new();
    input.take(REQUEST_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > REQUEST_MAX {
        return Err(Error::InputTooLarge);
    }
    Ok(Request::parse(&text)?)
}

fn provide(
    env: &Env<'_>,
    request: &Request,
    begun: Instant,
    deadline: Instant,
) -> Result<(PluginOutcome, Response), Error> {
    let (options, report) = (env.options, env.report);
    let nothing = |outcome| Ok((outcome, Response::empty(request.api_version())));
    report.step("Parsing namespace from request");
    let claims = read_claims(request)?;
    let Some(namespace) = namespace_of(claims.as_ref(), options) else {
        return nothing(PluginOutcome::NoToken);
    };
    report.about_namespace(namespace.as_str());

    let node = NodeRoot::this_machine();
    let Some(sources) = sources(env, &node, request.image())? else {
        return nothing(PluginOutcome::NoMirrors);
    };
    // Never freed, here and below: the process ends with the answer, and freeing a thousand Secrets takes as long as
    // choosing among them.
    let sources = ManuallyDrop::new(sources);
    report.step(format_args!("Getting secrets from namespace: {namespace}"));
    let names = || sources.iter().map(|source| source.reference.name());
    let asker = claims.as_ref().map(|claims| Asker { request, claims });
    let found = find_secrets(options, &node, asker, namespace, &WantedRepositories::of(names()), begun)?;
    let found = ManuallyDrop::new(found);
    report.step(format_args!("Got {} secret(s)", found.count()));
    found.lines().for_each(|why| report.passed_over(why));
    let global = global_auth_file(env, &node);
    let image = request.image();
    let mut provision =
        ManuallyDrop::new(provision(image, &sources, &found.secrets, global.as_ref(), options.delivery));
    let (content, entries) = match std::mem::replace(&mut provision.provided, Provided::Nothing) {
        Provided::Nothing => return nothing(PluginOutcome::NoCredential { secrets: found.count() }),
        Provided::Withheld(why) => return Err(why.into()),
        Provided::Answer(auth) => {
            let credentials = auth.len();
            let answered = answer::with_credentials(request.api_version(), auth);
            return Ok((PluginOutcome::Answered { credentials }, answered));
        }
        Provided::File { content, entries } => (content, entries),
    };
    for helper in &content.helpers_left_out {
        report.passed_over(format_args!(
            "credential helper {} of {} is left out: the namespace has a credential for that host",
            helper.name, helper.host
        ));
    }
    if !content.sources_left_out.is_empty() {
        report.passed_over(format_args!(
            "{} source(s) get no credential: the auth file would be too large",
            content.sources_left_out.len()
        ));
    }
    let file = File { name: AuthFileName::new(namespace, image)?, content: content.bytes.expose(), entries };
    hand_over(env, request, &file, deadline)
}

/// The token's claims; `None` without a token.
pub(crate) fn read_claims(request: &Request) -> Result<Option<Claims>, Error> {
    let Some(token) = request.service_account_token() else { return Ok(None) };
    Ok(Some(Claims::read(token)?))
}

/// Refuses an expired token. This matters only if the token goes to the API server: for manifests on the node it only
/// gives the namespace, which does not expire.
fn check_time(claims: &Claims) -> Result<(), Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    match claims.expires {
        Some(expires) if claims.is_expired(now) => Err(Error::Expired { ago: now.saturating_sub(expires) }),
        _ => Ok(()),
    }
}

pub(crate) fn namespace_of<'a>(claims: Option<&'a Claims>, options: &'a Options) -> Option<&'a Namespace> {
    claims.map(|claims| &claims.namespace).or(options.namespace_without_token.as_ref())
}

/// Loads the node's registries configuration from where the options and the environment say.
fn registries(
    env_var: &dyn Fn(&str) -> Option<OsString>,
    options: &Options,
    node: &NodeRoot,
) -> Result<RegistriesConf, LoadError> {
    let mut loader = LoaderEnv::from_vars(env_var, rustix::process::getuid().as_raw());
    loader.conf.clone_from(&options.registries_conf);
    loader.conf_dir.clone_from(&options.registries_conf_dir);
    node.registries(&loader)
}

/// The sources that may need a credential; `None` if `imagePullSecrets` serve every pull of the image.
pub(crate) fn sources(env: &Env<'_>, node: &NodeRoot, image: &str) -> Result<Option<Vec<PullSource>>, Error> {
    let conf = ManuallyDrop::new(registries(env.var, env.options, node)?);
    let files: Vec<_> = conf.files().iter().map(|path| path.display().to_string()).collect();
    env.report.step(format_args!("Matching mirrors for registry config: {}", files.join(", ")));
    let repository = Reference::parse(Dialect::Kubelet, image)
        .map_err(|source| Error::Image { image: shown(image, IMAGE_SHOWN).into_owned(), source })?;
    let Some(sources) = provision_sources(&conf, &repository, env.options.delivery) else { return Ok(None) };
    let names: Vec<_> = sources.iter().map(|source| source.reference.name()).collect();
    env.report.step(format_args!("Got mirror(s) for {image:?}: {:?}", names.join(", ")));
    Ok(Some(sources))
}

/// Reads the pull secrets for a request, as far as they are `wanted`; without an asker, only those on the node. The
/// time limit counts from `begun`, the start of the run.
pub(crate) fn find_secrets(
    options: &Options,
    node: &NodeRoot,
    asker: Option<Asker<'_>>,
    namespace: &Namespace,
    wanted: &WantedRepositories<'_>,
    begun: Instant,
) -> Result<FoundSecrets, Error> {
    let deadline = begun + options.api_timeout;
    if let SecretsFrom::Folder(folder) = &options.secrets {
        let wanted = wanted.in_every_document();
        return Ok(secrets::from_folder(node, folder, namespace, &wanted, deadline)?);
    }
    let Some((asker, token)) = asker.and_then(|asker| Some((asker, asker.request.service_account_token()?)))
    else {
        return Ok(FoundSecrets::default());
    };
    check_time(asker.claims)?;
    let cluster = Cluster::find(node, options)?;
    let api =
        Api::new(&cluster, token, deadline, options.proxy_from_environment).map_err(SecretsError::Api)?;
    let found = match &options.secrets {
        SecretsFrom::Named { annotation } => {
            secrets::named(&api, asker, annotation, &wanted.in_every_document())
        }
        _ => secrets::list(&api, namespace, wanted),
    };
    Ok(found?)
}

/// Reads the node's own auth file. Skips it if it cannot be read: the namespace's credentials can still be used.
pub(crate) fn global_auth_file(env: &Env<'_>, node: &NodeRoot) -> Option<AuthFile> {
    let path = &env.options.global_auth_file;
    let text = match node.read_within(path, GLOBAL_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            env.report.passed_over(format_args!("global auth file {}: {error}", path.display()));
            return None;
        }
    };
    match AuthFile::parse(&text) {
        Ok(file) => Some(file),
        Err(error) => {
            let error: DocumentError = error;
            env.report.passed_over(format_args!("global auth file {}: {error}", path.display()));
            None
        }
    }
}

/// An auth file to hand over.
struct File<'a> {
    name: AuthFileName,
    content: &'a [u8],
    entries: usize,
}

/// Hands the file over, to whoever pulls next or to whoever has the ticket.
fn hand_over(
    env: &Env<'_>,
    request: &Request,
    file: &File<'_>,
    deadline: Instant,
) -> Result<(PluginOutcome, Response), Error> {
    let (options, report) = (env.options, env.report);
    let (version, image, entries) = (request.api_version(), request.image(), file.entries);
    let handover = open_handover(options)?;
    let sweeper = SweeperCommand::new(options.sweep_arguments());
    let (path, tidying, ticket) = if options.delivery == Delivery::Ticket {
        let put = handover.put_for_ticket(&file.name, file.content, deadline, &sweeper)?;
        (put.path, put.tidying, Some(put.ticket))
    } else {
        let put = handover.put(&file.name, file.content, deadline, &sweeper)?;
        (put.path, put.tidying, None)
    };
    tidying::tell(report, &tidying);
    report.step(format_args!("Auth file path: {}", path.display()));
    Ok(match ticket {
        Some(ticket) => {
            (PluginOutcome::WroteForTicket { path, entries }, answer::with_ticket(version, image, &ticket))
        }
        None => (
            PluginOutcome::Wrote { path, entries },
            answer::for_this_account(version, image, options.pull_record),
        ),
    })
}

pub(crate) fn open_handover(options: &Options) -> Result<Handover, FolderError> {
    Handover::open(&options.auth_dir, &options.lock_dir, options.bounds)
}

/// Sweeps the auth folder until none of our files is left.
pub(crate) fn sweep(options: &Options) -> Result<(), Error> {
    close_inherited();
    Ok(open_handover(options)?.run_sweeper(|_| {})?)
}
