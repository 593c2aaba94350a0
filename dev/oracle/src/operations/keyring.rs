//! The kubelet's keyring: all credentials whose key matches, in its order.

use pullwright_engine::kubelet::Keyring;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::matching::{image, pattern};
use crate::auths::key;
use crate::operation::{Operation, Report, fewer, without_a_character};
use crate::random::Random;

/// The operation.
pub(super) struct Keyrings;

/// Keys in the order in which they are added, and the images looked up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    keys: Vec<String>,
    images: Vec<String>,
}

impl Operation for Keyrings {
    const NAME: &'static str = "keyring";
    const OP: &'static str = "keyring";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let images: Vec<String> = (0..6)
            .map(|_| {
                if random.one_in(5) {
                    random.pick(&["nginx", "team/app", "docker.io/x", "", "/x"]).to_owned()
                } else {
                    image(random)
                }
            })
            .collect();
        let keys = random.several(7, |random| {
            let image = &images[random.below(images.len())];
            match random.below(3) {
                0 => pattern(random, image),
                1 => format!("https://{}", pattern(random, image)),
                _ => key(random),
            }
        });
        Case { keys, images }
    }

    /// One config for each key: within one config Go adds in the random order of a map.
    fn request(case: &Case) -> Value {
        let config = |(index, key): (usize, &String)| json!({ key: { "username": index.to_string(), "password": "" } });
        json!({ "configs": case.keys.iter().enumerate().map(config).collect::<Vec<_>>(), "images": case.images })
    }

    fn questions(case: &Case) -> usize {
        case.images.len()
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let mut keyring = Keyring::default();
        for (index, key) in case.keys.iter().enumerate() {
            // The kubelet logs a key that is no URL and goes on.
            let _ = keyring.add(key, index.to_string());
        }
        for (index, image) in case.images.iter().enumerate() {
            let hits = keyring.lookup(image);
            let names: Vec<&String> = hits.iter().map(|hit| hit.value).collect();
            report.answer(
                || image.clone(),
                json!({ "found": !names.is_empty(), "usernames": names }),
                &theirs[index],
            );
        }
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let mut smaller = Vec::new();
        smaller.extend(fewer(&case.images).into_iter().map(|images| Case { images, ..case.clone() }));
        smaller.extend(fewer(&case.keys).into_iter().map(|keys| Case { keys, ..case.clone() }));
        for index in 0..case.keys.len() {
            for key in without_a_character(&case.keys[index]) {
                let mut case = case.clone();
                case.keys[index] = key;
                smaller.push(case);
            }
        }
        for index in 0..case.images.len() {
            for image in without_a_character(&case.images[index]) {
                let mut case = case.clone();
                case.images[index] = image;
                smaller.push(case);
            }
        }
        smaller
    }
}
