//! A file that loads renders to one that loads to the same; every answer about any name is an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullwright_engine::crio::short_name_mode;
use pullwright_engine::reference::{Dialect, Reference};
use pullwright_engine::registries::{ConfFile, Recorded, RegistriesConf, ShortNameRule};

fuzz_target!(|text: &str| {
    let Ok(file) = ConfFile::parse(text) else { return };
    let _ = file.findings();
    let conf = RegistriesConf::merge([("/a.conf".into(), file)]);
    let again = ConfFile::parse(&conf.render()).expect("what is rendered loads");
    let again = RegistriesConf::merge([("/a.conf".into(), again)]);
    assert_eq!(conf.registries(), again.registries());
    for entry in conf.registries() {
        let name = format!("{}/image:tag", entry.prefix.replacen('*', "a", 1));
        let _ = conf.find(&name);
        if let Ok(reference) = Reference::parse(Dialect::Runtime, &name) {
            let _ = conf.pull_sources(&reference);
            let _ = conf.all_sources(&reference);
        }
    }
    let conf = conf.with_recorded(Recorded::parse("/b.conf".into(), text));
    let _ = conf.candidates("nginx", &ShortNameRule::default());
    let _ = short_name_mode(text);
});
