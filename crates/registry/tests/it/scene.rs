//! What every pull here needs: a certificate authority, a client that believes it, and a folder to pull into.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{PullSource, RegistriesConf};
use pullwright_registry::{
    Client, Digest, Event, Layout, Options, Platforms, Progress, PullError, Pulled, Request, Retry, Roots,
    Source, certificates,
};
use pullwright_testkit::certificates::{Authority, Identity};
use pullwright_testkit::standin::{Image, Registry, Setup};
use tempfile::TempDir;

pub(crate) const NAME: &str = "example.com/team/app:1";

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) identity: Identity,
    pub(crate) options: Options,
    pub(crate) platforms: Platforms,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(&folder.path().join("certificates")).unwrap();
        let identity = authority.server("registry", &["127.0.0.1"]).unwrap();
        let options = Options {
            roots: Roots::OnlyGiven,
            authorities: certificates(&fs::read(authority.certificate()).unwrap()).unwrap(),
            retry: Retry {
                times: 3,
                first_wait: Duration::from_millis(1),
                longest_wait: Duration::from_secs(2),
            },
            ..Options::default()
        };
        Self { folder, identity, options, platforms: Platforms::This }
    }

    /// A registry with TLS that lets everybody in.
    pub(crate) fn open_registry(&self) -> Registry {
        self.registry(Setup::default())
    }

    /// A registry with TLS.
    pub(crate) fn registry(&self, setup: Setup<'_>) -> Registry {
        let identity = Some(&self.identity);
        Registry::start(Setup { identity, ..setup }).unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("layout")
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::open(&self.root()).unwrap()
    }

    pub(crate) fn pull(&self, sources: &[Source]) -> Result<Pulled, PullError> {
        self.pull_telling(sources, &|_: Event<'_>| {})
    }

    pub(crate) fn pull_telling(
        &self,
        sources: &[Source],
        progress: &dyn Progress,
    ) -> Result<Pulled, PullError> {
        runtime().block_on(async {
            let client = Client::new(self.options.clone()).unwrap();
            let request = Request { name: NAME, sources, platforms: self.platforms.clone() };
            client.pull(&request, &self.layout(), progress).await
        })
    }

    /// What the pull of these sources fails with.
    pub(crate) fn failure(&self, sources: &[Source]) -> String {
        self.pull(sources).unwrap_err().to_string()
    }

    /// The blob of this digest in the layout.
    pub(crate) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        fs::read(self.layout().blob(&Digest::parse(digest).unwrap())).ok()
    }

    /// The digest that the layout has under the name.
    pub(crate) fn named(&self) -> Option<String> {
        let text = fs::read(self.root().join("index.json")).ok()?;
        let index: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let entries = index["manifests"].as_array().unwrap();
        let mut named =
            entries.iter().filter(|entry| entry["annotations"]["org.opencontainers.image.ref.name"] == NAME);
        let digest = named.next()?["digest"].as_str()?.to_owned();
        assert!(named.next().is_none(), "the name is there once");
        Some(digest)
    }

    /// The files of the layout that are not of a layout.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let known = ["blobs", "index.json", "oci-layout"];
        names.filter(|name| !known.contains(&name.as_str())).collect()
    }

    /// Asserts that the image is in the layout, whole, under the name.
    pub(crate) fn assert_holds(&self, image: &Image) {
        let manifest = image.manifest();
        assert_eq!(self.named().as_deref(), Some(pullwright_testkit::standin::digest(&manifest).as_str()));
        for content in image.layers.iter().chain([&image.config(), &manifest]) {
            let digest = pullwright_testkit::standin::digest(content);
            assert!(self.blob(&digest).as_ref() == Some(content), "{digest}");
        }
        assert_eq!(self.unfinished(), Vec::<String>::new());
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// An image of two layers, large enough to come in several pieces.
pub(crate) fn image() -> Image {
    let layer = |seed: u32, length: u32| {
        let bytes =
            (0..length).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13).to_le_bytes()[0]);
        bytes.collect()
    };
    Image::new(vec![layer(1, 300_000), layer(2, 5_000)])
}

/// `team/app:1`, or another version, at a registry.
pub(crate) fn source(registry: &Registry, version: &str) -> Source {
    source_at(&registry.address(), version)
}

pub(crate) fn source_at(address: &str, version: &str) -> Source {
    let separator = if version.starts_with("sha256:") { "@" } else { ":" };
    let text = format!("{address}/team/app{separator}{version}");
    let reference = Reference::parse(Dialect::Runtime, &text).unwrap();
    let sources = RegistriesConf::default().pull_sources(&reference).unwrap();
    Source::new(&sources[0], None)
}

/// The same source, over plain HTTP if need be.
pub(crate) fn insecure(source: Source) -> Source {
    Source { from: PullSource { insecure: true, ..source.from }, ..source }
}

/// How many requests a registry got for paths that contain this.
pub(crate) fn requests(registry: &Registry, path: &str) -> usize {
    registry.log().iter().filter(|access| access.path.contains(path)).count()
}

/// Writes down the names of what happens.
#[derive(Default)]
pub(crate) struct Diary(pub(crate) Mutex<Vec<String>>);

impl Progress for Diary {
    fn report(&self, event: Event<'_>) {
        let text = format!("{event:?}");
        let name = text.split(' ').next().unwrap().to_owned();
        self.0.lock().unwrap().push(name);
    }
}
