//! The encodings of the API server: the plugin asks for protobuf, and takes JSON where there is nothing else.

use crate::cluster::Cluster;
use crate::inputs::auths;
use crate::stage::{IMAGE, MIRROR, MIRRORED, NAMESPACE};

#[test]
fn a_list_in_protobuf_is_the_same_list() {
    let cluster = Cluster::new();
    cluster.allow(&["list"], "secrets", &[]);
    for number in 0..600 {
        cluster.put(&format!("s{number:05}"), &auths(&[(&format!("r{number}.example"), "other")]));
    }
    cluster.put("t-broken", "{");
    cluster.put("t-the-last", &auths(&[(MIRROR, "puller")]));
    let legacy = auths(&[("docker.io", "legacy")]).replace("{\"auths\":", "");
    let legacy = legacy.strip_suffix('}').unwrap();
    cluster.api.put_secret(NAMESPACE, "l", "kubernetes.io/dockercfg", ".dockercfg", legacy.as_bytes());
    cluster.api.speak_protobuf();
    assert!(cluster.ask().answered().1.ends_with(" with 2 number of entries"));
    let users = ["puller", "legacy"].map(|user| Some(user.to_owned()));
    assert_eq!(cluster.stage.users_for(&[MIRRORED, IMAGE]), users);
    assert_eq!(cluster.asked().len(), 2, "two pages");
}
