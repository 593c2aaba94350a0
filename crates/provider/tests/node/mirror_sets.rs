//! Mirrors as the cluster's objects name them: merged into the file that CRI-O and skopeo read, and into what containerd can be
//! told of it.

use std::{error::Error, fs};

use pullwright_engine::mirrors::{
    MergeInputs, MirrorSet, MirrorSetKind, MirrorSetRule, ObjectOutcome as Verdict, RegistrySources,
    SourcePolicy, merge,
};
use pullwright_testkit::{
    node::{MIRROR_LOGIN, Node, Runtime},
    scenario::{PATIENCE, Pod, Scenario, SecretKind::DockerConfigJson, entry},
};
use serde_json::{Value, json};

use crate::{GLOBAL_LOGIN, Outcome, SHARED_LOGIN, served};

/// Two names of the registry `source`: one that may never be asked, and one that may.
const NEVER: &str = "localhost:5001";
const ALLOWED: &str = "node-a:5001";
/// The registries `mirror` and `fallback`.
const TAGS: &str = "127.0.0.1:5000";
const DIGESTS: &str = "127.0.0.1:5002";

const DROP_IN: &str = "/etc/containers/registries.conf.d/60-mirror-sets.conf";

/// `NEVER` has one mirror for each kind of pull, `ALLOWED` two for pulls by digest.
fn sets() -> [MirrorSet; 2] {
    let rule = |source: &str, mirrors: &[&str], policy| MirrorSetRule {
        source: source.to_owned(),
        mirrors: mirrors.iter().map(|&mirror| mirror.to_owned()).collect(),
        policy: Some(policy),
    };
    let never = SourcePolicy::NeverContactSource;
    let set = |kind, rules| MirrorSet { kind, name: "node".to_owned(), rules };
    [
        set(
            MirrorSetKind::ImageDigestMirrorSet,
            vec![
                rule(NEVER, &[DIGESTS], never),
                rule(ALLOWED, &[TAGS, DIGESTS], SourcePolicy::AllowContactingSource),
            ],
        ),
        set(MirrorSetKind::ImageTagMirrorSet, vec![rule(NEVER, &[TAGS], never)]),
    ]
}

/// The objects in force on the node, until this is dropped.
struct InForce<'n> {
    node: &'n Node<'n>,
}

impl<'n> InForce<'n> {
    fn new(node: &'n Node<'n>) -> Result<Self, Box<dyn Error>> {
        let insecure = [TAGS, DIGESTS].map(str::to_owned).to_vec();
        let sources = RegistrySources { insecure, ..RegistrySources::default() };
        let merged = merge(&MergeInputs { sets: &sets(), sources: &sources });
        assert!(merged.verdicts.iter().all(|verdict| verdict.outcome == Verdict::Applied), "{merged:#?}");
        let file = node.file(DROP_IN);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, merged.render())?;
        let in_force = Self { node };
        node.reload_registries()?;
        Ok(in_force)
    }
}

impl Drop for InForce<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(self.node.file(DROP_IN)) {
            eprintln!("{DROP_IN} is still there: {error}");
        }
        if let Err(error) = self.node.reload_registries() {
            eprintln!("the runtime does not know that {DROP_IN} is gone: {error}");
        }
    }
}

/// Who pulls: the node's runtime for a Pod, or skopeo, with the library that CRI-O pulls with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Puller {
    Pod,
    Skopeo,
}

impl Puller {
    const EACH: [Self; 2] = [Self::Pod, Self::Skopeo];

    /// A namespace for one pull, with a login for every host that might be asked.
    fn begin<'n>(self, scenario: &Scenario<'n>, what: &str) -> Result<Scenario<'n>, Box<dyn Error>> {
        let begun = scenario.in_namespace(&format!("{what}-{self:?}").to_lowercase())?;
        begun.add_secret("logins", DockerConfigJson, &logins())?;
        begun.allow_secrets("default")?;
        Ok(begun)
    }

    /// Pulls, and says why it failed if it did.
    fn pull(self, scenario: &Scenario<'_>, image: &str) -> Result<Option<String>, Box<dyn Error>> {
        let images = [image];
        let pod = Pod::new("test-pod", &images);
        match self {
            Self::Pod => {
                scenario.run_pods(&[pod])?;
                let failed = scenario.wait_ready_or_failed(pod, PATIENCE)?;
                scenario.delete_pods()?;
                Ok(failed)
            }
            Self::Skopeo => {
                let root = scenario.node().root();
                let logins_file = root.join("skopeo-logins.json");
                fs::write(&logins_file, json!({"auths": logins()}).to_string())?;
                let (logins_file, to) = (logins_file.display().to_string(), root.join("skopeo-copy"));
                let (from, to) = (format!("docker://{image}"), format!("oci:{}", to.display()));
                let args =
                    ["--insecure-policy", "copy", "--quiet", "--src-authfile", &logins_file, &from, &to];
                let copied = scenario.node().place().run("skopeo", &args);
                Ok(copied.err().map(|error| error.to_string()))
            }
        }
    }
}

fn logins() -> Value {
    json!({
        TAGS: entry(MIRROR_LOGIN), DIGESTS: entry(GLOBAL_LOGIN),
        NEVER: entry(SHARED_LOGIN), ALLOWED: entry(SHARED_LOGIN),
    })
}

pub(crate) fn by_digest(scenario: &mut Scenario<'_>) -> Outcome {
    let _in_force = InForce::new(scenario.node())?;
    let digest = scenario.node().push("fallback", "library/set-digest:1")?;
    for puller in Puller::EACH {
        let begun = puller.begin(scenario, "set-digest")?;
        let failed = puller.pull(&begun, &format!("{NEVER}/library/set-digest@{digest}"))?;
        assert_eq!(failed, None, "{puller:?}");
        assert!(served(&begun, "fallback", "library/set-digest")?, "{puller:?}");
        assert_eq!(first_contact(&begun, "mirror", "library/set-digest")?, None, "{puller:?}");
        assert_eq!(begun.registry_log("source")?, Vec::<String>::new(), "{puller:?}");
    }
    Ok(())
}

pub(crate) fn by_tag(scenario: &mut Scenario<'_>) -> Outcome {
    let _in_force = InForce::new(scenario.node())?;
    scenario.node().push("mirror", "library/set-tag:1")?;
    for puller in Puller::EACH {
        let begun = puller.begin(scenario, "set-tag")?;
        assert_eq!(puller.pull(&begun, &format!("{NEVER}/library/set-tag:1"))?, None, "{puller:?}");
        assert!(served(&begun, "mirror", "library/set-tag")?, "{puller:?}");
        // containerd resolves the tag where it may, and then asks every host for what that came to, which is a digest.
        let by_digest_too = puller == Puller::Pod && scenario.node().runtime() != Runtime::Crio;
        let asked = first_contact(&begun, "fallback", "library/set-tag")?;
        assert_eq!(asked.is_some(), by_digest_too, "{puller:?}");
        assert_eq!(begun.registry_log("source")?, Vec::<String>::new(), "{puller:?}");
    }
    Ok(())
}

/// Each mirror has the image that is pulled the other way, and the source has both.
pub(crate) fn never_contact_source(scenario: &mut Scenario<'_>) -> Outcome {
    let _in_force = InForce::new(scenario.node())?;
    let digest = scenario.node().push("source", "library/set-never:1")?;
    for puller in Puller::EACH {
        for (what, image) in [("set-never-tag", ":1".to_owned()), ("set-never-digest", format!("@{digest}"))]
        {
            let begun = puller.begin(scenario, what)?;
            let failed = puller.pull(&begun, &format!("{NEVER}/library/set-never{image}"))?;
            assert!(failed.is_some(), "{puller:?} pulled {image}");
            assert_eq!(begun.registry_log("source")?, Vec::<String>::new(), "{puller:?} {image}");
        }
    }
    Ok(())
}

/// Only the source has the image: the mirrors are asked before it, in the order of the object.
pub(crate) fn fall_back_order(scenario: &mut Scenario<'_>) -> Outcome {
    let _in_force = InForce::new(scenario.node())?;
    let digest = scenario.node().push("source", "library/set-order:1")?;
    for puller in Puller::EACH {
        let begun = puller.begin(scenario, "set-order")?;
        let failed = puller.pull(&begun, &format!("{ALLOWED}/library/set-order@{digest}"))?;
        assert_eq!(failed, None, "{puller:?}");
        let mut contacts = Vec::new();
        for registry in ["mirror", "fallback", "source"] {
            let first = first_contact(&begun, registry, "library/set-order")?;
            contacts.push(first.ok_or_else(|| format!("{puller:?}: {registry} was not asked"))?);
        }
        assert!(contacts.is_sorted(), "{puller:?}: {contacts:?}");
    }
    Ok(())
}

/// When a registry was first asked for `repository` since the scenario began.
fn first_contact(
    scenario: &Scenario<'_>,
    registry: &str,
    repository: &str,
) -> Result<Option<String>, Box<dyn Error>> {
    let asked = format!("vars.name={repository} ");
    let log = scenario.registry_log(registry)?;
    let first = log.iter().find(|line| line.contains(&asked));
    // The fraction of a second is as long as it has digits, so the letter at the end would count as one.
    Ok(first
        .and_then(|line| line.strip_prefix("time=\"")?.split_once("Z\""))
        .map(|(time, _)| time.to_owned()))
}
