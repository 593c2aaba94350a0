//! A `hosts.toml` that containerd accepts gives an order of endpoints for any registry, and mirror sets that merge.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::containerd::{CertsD, HostsToml, disagreements, import};
use pullwright_engine::mirrors::{MergeInputs, RegistrySources, merge};
use pullwright_engine::registries::RegistriesConf;

fuzz_target!(|text: &str| {
    if let Err(error) = HostsToml::parse(text) {
        let _ = error.finding();
    }
    let mut certs = CertsD::default();
    certs.insert("docker.io", Some(text));
    certs.insert("_default", Some(text));
    for host in ["docker.io", "127.0.0.1:5000", "a.example.com"] {
        let endpoints = certs.endpoints(host);
        assert!(!endpoints.is_empty(), "somebody is asked for {host}");
        endpoints.iter().for_each(|endpoint| drop(endpoint.server_address()));
    }
    let _ = disagreements(&RegistriesConf::default(), &certs);
    let sets = import(&certs).imported().sets("imported");
    let sources = RegistrySources::default();
    let merged = merge(&MergeInputs { sets: &sets, sources: &sources });
    merged.registries_conf("/a.conf".into()).expect("what is imported can be rendered");
});
