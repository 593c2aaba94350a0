//! Mirror sets that a test creates, changes and deletes, and whether the operator has done with them what it should.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::world::{World, digest_mirror_set, eventually};

const KIND: &str = "imagedigestmirrorsets";

/// The mirror sets that there are: the mirror of each.
#[derive(Default)]
pub(crate) struct Sets(BTreeMap<String, String>);

impl Sets {
    /// Creates or changes a mirror set.
    pub(crate) fn apply(&mut self, world: &World, name: &str, mirror: &str) {
        world.apply_object(&self.put(name, mirror));
    }

    /// Takes note of a mirror set, and returns it.
    pub(crate) fn put(&mut self, name: &str, mirror: &str) -> Value {
        self.0.insert(name.to_owned(), mirror.to_owned());
        digest_mirror_set(name, &source(name), &[&format!("{mirror}.local/{name}")])
    }

    pub(crate) fn delete(&mut self, world: &World, name: &str) {
        self.0.remove(name);
        world.kubectl(&["delete", KIND, name]);
    }

    /// Changes something: most of the time a set, else there is one more or one less. `keep` stays.
    pub(crate) fn churn(&mut self, world: &World, rng: &mut fastrand::Rng, keep: &str) {
        let name = format!("set-{}", rng.u8(0..12));
        if self.0.contains_key(&name) && name != keep && rng.u8(0..3) == 0 {
            self.delete(world, &name);
        } else {
            self.apply(world, &name, &format!("m{}", rng.u32(..)));
        }
    }

    /// Waits until there is one `NodeConfiguration` that says what these objects say and nothing else, and each object says that it is
    /// applied as it is now.
    pub(crate) fn wait_until_delivered(&self, world: &World) {
        eventually("everything to be delivered", || self.delivered(world));
    }

    fn delivered(&self, world: &World) -> Result<(), String> {
        let configurations = world.list("nodeconfigurations");
        let [configuration] = &configurations[..] else {
            return Err(format!("{} NodeConfigurations", configurations.len()));
        };
        let found = locations(configuration);
        let wanted: BTreeSet<String> = self
            .0
            .iter()
            .flat_map(|(name, mirror)| [source(name), format!("{mirror}.local/{name}")])
            .collect();
        if found != wanted {
            let difference: Vec<_> = found.symmetric_difference(&wanted).collect();
            return Err(format!("the files differ in {difference:?}"));
        }
        let objects = world.list(KIND);
        let names: BTreeSet<&str> =
            objects.iter().filter_map(|set| set["metadata"]["name"].as_str()).collect();
        assert_eq!(names, self.0.keys().map(String::as_str).collect(), "the test lost count");
        for object in &objects {
            let conditions = object["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
            let applied = |condition: &&Value| {
                condition["type"] == "Applied"
                    && condition["status"] == "True"
                    && condition["observedGeneration"] == object["metadata"]["generation"]
            };
            if conditions.iter().filter(applied).count() != 1 {
                return Err(format!("{} says {conditions:?}", object["metadata"]["name"]));
            }
        }
        Ok(())
    }
}

fn source(name: &str) -> String {
    format!("quay.io/{name}")
}

/// All that the registry files of a `NodeConfiguration` for CRI-O name.
fn locations(configuration: &Value) -> BTreeSet<String> {
    let files = configuration["spec"]["files"].as_array().map_or(&[][..], Vec::as_slice);
    let lines = files.iter().flat_map(|file| file["content"].as_str().unwrap_or_default().lines());
    let location = |line: &str| Some(line.trim().strip_prefix("location = ")?.trim_matches('"').to_owned());
    lines.filter_map(location).collect()
}

/// An `ImageTagMirrorSet` with one rule.
pub(crate) fn tag_mirror_set(name: &str, source: &str, mirrors: &[&str]) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageTagMirrorSet", "metadata": {"name": name},
        "spec": {"imageTagMirrors": [{"source": source, "mirrors": mirrors}]},
    })
}
