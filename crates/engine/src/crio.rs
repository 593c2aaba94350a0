//! The parts of CRI-O's own configuration, `crio.conf` and its drop-ins, that Pullwright needs.

use crate::registries::ShortNameMode;
use pullwright_golang::json::names_field;
use pullwright_golang::quote::quote;
use pullwright_golang::toml::{Document, Value};

/// The main file.
pub const CONF: &str = "/etc/crio/crio.conf";
/// The folder of drop-ins. CRI-O reads all files in it and below, whatever their names, in the order of the names.
pub const CONF_DIR: &str = "/etc/crio/crio.conf.d";

/// The reason why CRI-O refuses a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CrioConfError(pub String);

/// Returns the mode for short names that a file sets; `None` if it sets none.
///
/// # Errors
/// If CRI-O does not start with this file: it is not TOML, or the value is not one that CRI-O knows.
pub fn short_name_mode(text: &str) -> Result<Option<ShortNameMode>, CrioConfError> {
    let document = Document::parse(text).map_err(|refusal| {
        let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let place = refusal.span.map(|span| format!("line {}: ", line(span.start))).unwrap_or_default();
        CrioConfError(format!("{place}{}", refusal.fault))
    })?;
    let mut value = document.root();
    for name in ["crio", "image", "short_name_mode"] {
        match below(value, name) {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    match value.text().map(AsRef::as_ref) {
        // An empty value is the default, since it is not "disabled".
        Some("enforcing" | "") => Ok(Some(ShortNameMode::Enforcing)),
        Some("disabled") => Ok(Some(ShortNameMode::Disabled)),
        Some(other) => Err(CrioConfError(format!("invalid short name mode {}", quote(other)))),
        None => Err(CrioConfError(format!("short_name_mode: expected a string, found {}", value.noun()))),
    }
}

/// Returns a field of a table, by its exact name or else ignoring case.
fn below<'d, 't>(value: Value<'d, 't>, name: &str) -> Option<Value<'d, 't>> {
    let table = value.table()?;
    let exact = table.entries().find(|(key, ..)| *key == name);
    exact.or_else(|| table.entries().find(|(key, ..)| names_field(key, name))).map(|(_, _, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_what_crio_makes_of_it() {
        let mode = |text: &str| short_name_mode(text).map_err(|error| error.to_string());
        for (text, expected) in [
            ("", None),
            ("[crio.image]\npause_image = 'x'", None),
            ("[crio]\nshort_name_mode = 'disabled'", None),
            ("[crio.image]\nshort_name_mode = 'disabled'", Some(ShortNameMode::Disabled)),
            ("[CRIO.Image]\nSHORT_NAME_MODE = 'disabled'", Some(ShortNameMode::Disabled)),
            ("crio.image.short_name_mode = 'enforcing'", Some(ShortNameMode::Enforcing)),
            ("[crio.image]\nshort_name_mode = ''", Some(ShortNameMode::Enforcing)),
        ] {
            assert_eq!(mode(text), Ok(expected), "{text}");
        }
        assert_eq!(
            mode("[crio.image]\nshort_name_mode = 'permissive'"),
            Err("invalid short name mode \"permissive\"".to_owned())
        );
        assert!(mode("[crio.image]\nshort_name_mode = true").is_err());
        assert!(mode("[crio.image").is_err());
    }
}
