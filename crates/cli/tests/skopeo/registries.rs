//! The registries that all tests share, one test at a time, under names that stand for their ports.

use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use pullwright_testkit::certificates::Authority;
use pullwright_testkit::image;
use pullwright_testkit::process::{Place, free_ports};
use pullwright_testkit::registry::{Registry, RunningRegistry};

/// Those that run: the source of images, its mirrors, and one without TLS.
const RUNNING: [&str; 5] = ["hub.test", "mirror-1.test", "mirror-2.test", "mirror-3.test", "plain.test"];
/// Its connections are refused.
const DOWN: &str = "nobody.test";
/// Stands for the digest of the image.
const DIGEST: &str = "DIGEST";

pub(crate) struct Registries {
    pub(crate) root: PathBuf,
    pub(crate) authority: Authority,
    running: Vec<RunningRegistry>,
    /// Names, and what they stand for.
    names: Vec<(&'static str, String)>,
    image: PathBuf,
}

/// Started by the first test, and ended with this process.
///
/// One test at a time has them, so that all that is in a log is its own, whatever it is about.
pub(crate) static REGISTRIES: LazyLock<Mutex<Registries>> = LazyLock::new(|| Mutex::new(Registries::start()));

impl Registries {
    fn start() -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli-skopeo");
        if root.exists() {
            fs::remove_dir_all(&root).expect("what an earlier run left can be removed");
        }
        let authority = Authority::new(&root.join("authority")).expect("an authority");
        let mut ports: [u16; RUNNING.len() + 1] = free_ports().expect("ports");
        // Mirrors of unrelated lists are sorted: ports must sort as the names do that stand for them.
        ports.sort_unstable();
        let [ports @ .., down] = ports;
        let running = RUNNING.into_iter().zip(ports).map(|(name, port)| {
            let registry = Registry { name, port, logins: Vec::new(), tls: name != "plain.test" };
            registry.start(Place::Host, &root, &authority).expect("a registry")
        });
        let running: Vec<_> = running.collect();
        let address = |registry: &RunningRegistry| (registry.registry().name, registry.registry().address());
        let mut names: Vec<_> = running.iter().map(address).collect();
        names.push((DOWN, format!("127.0.0.1:{down}")));
        // Nobody runs it.
        let program = root.join("program");
        fs::write(&program, "#!/bin/sh\n").expect("a file");
        let image = root.join("image");
        image::write(&image, &program, "test").expect("an image");
        // Only once it is pushed is its digest known.
        let digest = running[0].push(&image, "team/app:1").expect("a push");
        names.push((DIGEST, digest));
        Self { root, authority, running, names, image }
    }

    /// Makes these repositories all that there is; each has the image, with the tag 1.
    pub(crate) fn hold(&self, repositories: &[&str]) {
        for name in RUNNING {
            let content = self.root.join("registries").join(name).join("data/docker");
            if content.exists() {
                fs::remove_dir_all(content).expect("a registry's content can be removed");
            }
        }
        for repository in repositories {
            let (name, path) = repository.split_once('/').expect("registry/repository");
            let registry = self.running.iter().find(|registry| registry.registry().name == name);
            registry.expect("its name").push(&self.image, &format!("{path}:1")).expect("a push");
        }
    }

    /// A text with addresses in place of names.
    pub(crate) fn addressed(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, address)| text.replace(name, address))
    }

    /// A text with names in place of addresses.
    pub(crate) fn named(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, address)| text.replace(address, name))
    }

    /// How long the logs are now.
    pub(crate) fn marks(&self) -> Vec<usize> {
        self.running.iter().map(|registry| registry.log().mark()).collect()
    }

    /// Who was asked for a manifest since then, in order, with the status that was answered.
    ///
    /// Who was asked only for something else, or has so much as got a connection that failed, is there as "contacted": a
    /// registry that is not named at all has written nothing to its log.
    pub(crate) fn asked(&self, since: &[usize]) -> Vec<String> {
        let mut asked = Vec::new();
        for (registry, mark) in self.running.iter().zip(since) {
            let (name, lines) = (registry.registry().name, registry.log().since(*mark));
            let manifests: Vec<_> = lines.iter().filter_map(|line| answer(name, line)).collect();
            if manifests.is_empty() && !lines.is_empty() {
                asked.push((String::new(), format!("contacted {name}")));
            }
            asked.extend(manifests);
        }
        asked.sort();
        asked.into_iter().map(|(_, answer)| self.named(&answer)).collect()
    }
}

/// When a registry answered a request for a manifest, and how.
fn answer(registry: &str, line: &str) -> Option<(String, String)> {
    let field = |key: &str| {
        let (_, rest) = line.split_once(&format!("{key}="))?;
        Some(rest.split(' ').next()?.trim_matches('"'))
    };
    let status = field("http.response.status")?;
    let (repository, reference) =
        field("http.request.uri")?.strip_prefix("/v2/")?.split_once("/manifests/")?;
    let separator = if reference.contains(':') { '@' } else { ':' };
    // Zeros at the end of the time are left out. Without its last letter it still sorts.
    let time = field("time")?.trim_end_matches('Z');
    Some((time.to_owned(), format!("{status} {registry}/{repository}{separator}{reference}")))
}
