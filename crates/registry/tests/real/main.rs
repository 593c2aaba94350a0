//! Pulls from the real registry (docker-registry), read back and compared with what the runtime's own library (skopeo) pulls.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use pullwright_engine::credentials::Credential;
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{PullSource, RegistriesConf};
use pullwright_registry::{Client, Layout, Options, Platforms, Quiet, Request, Roots, Source, certificates};
use pullwright_testkit::certificates::Authority;
use pullwright_testkit::process::Place;
use pullwright_testkit::registry::{Login, Registry};
use pullwright_testkit::standin::{Image, digest};

type Outcome = Result<(), Box<dyn Error>>;

const LOGIN: Login = Login { user: "team", password: "canary-51c0" };

/// A folder of this test's own, below cargo's folder for tests.
fn folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn free_port() -> Result<u16, Box<dyn Error>> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Writes an image as an OCI layout, for skopeo to push.
fn write(layout: &Path, image: &Image) -> Outcome {
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let manifest = image.manifest();
    for content in image.layers.iter().chain([&image.config(), &manifest]) {
        fs::write(blobs.join(&digest(content)["sha256:".len()..]), content)?;
    }
    let index = format!(
        r#"{{"schemaVersion": 2, "manifests": [{{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "{}", "size": {}}}]}}"#,
        digest(&manifest),
        manifest.len()
    );
    fs::write(layout.join("index.json"), index)?;
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion": "1.0.0"}"#)?;
    Ok(())
}

fn pull(root: &Path, authority: &Authority, source: Source) -> Outcome {
    let options = Options {
        roots: Roots::OnlyGiven,
        authorities: certificates(&fs::read(authority.certificate())?)?,
        ..Options::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(options)?;
        let layout = Layout::open(root)?;
        let request = Request { name: "pulled:1", sources: &[source], platforms: Platforms::This };
        client.pull(&request, &layout, &Quiet).await?;
        Ok(())
    })
}

/// Copies an image to a folder with skopeo and gives the content of every file.
fn skopeo(folder: &Path, from: &str, credentials: &str) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let to = format!("dir:{}", folder.display());
    let mut arguments = vec!["--insecure-policy", "copy", "--quiet", "--src-tls-verify=false"];
    if !credentials.is_empty() {
        arguments.extend(["--src-creds", credentials]);
    }
    arguments.extend([from, &to]);
    Place::Host.run("skopeo", &arguments)?;
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    Ok(files)
}

#[test]
fn the_layout_holds_what_skopeo_pulls_byte_for_byte() -> Outcome {
    let folder = folder("real-registry")?;
    let authority = Authority::new(&folder.join("certificates"))?;
    let registry = Registry { name: "private", port: free_port()?, logins: vec![LOGIN], tls: true };
    let registry = registry.start(Place::Host, &folder, &authority)?;
    let image = Image::new(vec![vec![7; 3_000_000], b"small".to_vec()]);
    let pushed = folder.join("pushed");
    write(&pushed, &image)?;
    registry.push(&pushed, "team/app:1")?;

    let address = registry.registry().address();
    let reference = Reference::parse(Dialect::Runtime, &format!("{address}/team/app:1"))?;
    let sources = RegistriesConf::default().pull_sources(&reference)?;
    let source = Source::new(&sources[0], Some(Credential::basic(LOGIN.user, LOGIN.password)));
    let layout = folder.join("layout");
    pull(&layout, &authority, source.clone())?;
    // Both as a folder with the manifest and the blobs as they are.
    let credentials = format!("{}:{}", LOGIN.user, LOGIN.password);
    let theirs = skopeo(&folder.join("theirs"), &format!("docker://{address}/team/app:1"), &credentials)?;
    let ours = skopeo(&folder.join("ours"), &format!("oci:{}:pulled:1", layout.display()), "")?;
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    assert!(ours == theirs, "the files differ");

    let without = Source { credential: Ok(None), ..source.clone() };
    let failure = pull(&layout, &authority, without).unwrap_err().to_string();
    assert!(failure.contains("answered 401 (unauthorized"), "{failure}");
    let reference = Reference::parse(Dialect::Runtime, &format!("{address}/team/app:2"))?;
    let failure = pull(&layout, &authority, Source { from: PullSource { reference, ..source.from }, ..source }).unwrap_err().to_string();
    assert!(failure.ends_with("answered 404 (manifest unknown)"), "{failure}");
    Ok(())
}
