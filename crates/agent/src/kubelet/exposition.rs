//! Finds one hash in the text in which a kubelet shows its metrics, however long that text is.

use super::hash::ConfigHash;

const METRIC: &[u8] = b"kubelet_credential_provider_config_info{";
/// The longest line that can have the hash. Of longer ones, and of other metrics, nothing is kept.
const LINE_MAX: usize = 4 << 10;

/// Takes the text in pieces as they arrive, and keeps at most one line of it.
#[derive(Debug, Default)]
pub(crate) struct HashScanner {
    line: Vec<u8>,
    /// The rest of this line does not matter.
    passing_over: bool,
}

impl HashScanner {
    /// Takes the next piece of the text; the hash once its line is complete.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) -> Option<ConfigHash> {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.add(&piece[..end]);
            piece = &piece[end + 1..];
            if let Some(hash) = self.end() {
                return Some(hash);
            }
        }
        self.add(piece);
        None
    }

    /// The text is over; the hash if its line was the last one.
    pub(crate) fn end(&mut self) -> Option<ConfigHash> {
        let found = if self.passing_over { None } else { hash_of(&self.line) };
        (self.passing_over, self.line) = (false, Vec::new());
        found
    }

    fn add(&mut self, part: &[u8]) {
        if self.passing_over {
            return;
        }
        self.line.extend_from_slice(&part[..part.len().min(LINE_MAX)]);
        let known = self.line.len().min(METRIC.len());
        if self.line[..known] != METRIC[..known] || self.line.len() >= LINE_MAX {
            (self.passing_over, self.line) = (true, Vec::new());
        }
    }
}

/// The hash in `kubelet_credential_provider_config_info{hash="sha256:…"} 1`, among any other labels.
fn hash_of(line: &[u8]) -> Option<ConfigHash> {
    let mut labels = std::str::from_utf8(line.strip_prefix(METRIC)?).ok()?;
    loop {
        let (name, rest) = labels.split_once("=\"")?;
        let end = end_of_value(rest)?;
        if name.trim_start_matches([',', ' ']) == "hash" {
            return ConfigHash::parse(&rest[..end]);
        }
        labels = &rest[end + 1..];
    }
}

/// Where the quote is that ends a value. Others have a backslash before them.
fn end_of_value(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "sha256:55a8ac8e9d708ebd7925e3e2c9624510f6516a3f2c5b3212cb482fceb6315e1f";
    const LINE: &str = "kubelet_credential_provider_config_info{hash=\"sha256:\
                        55a8ac8e9d708ebd7925e3e2c9624510f6516a3f2c5b3212cb482fceb6315e1f\"} 1";

    /// What is found in a text that arrives in pieces.
    fn scan(text: &str, piece: usize) -> Option<ConfigHash> {
        let mut scanner = HashScanner::default();
        let found = text.as_bytes().chunks(piece).find_map(|piece| scanner.feed(piece));
        assert!(scanner.line.capacity() <= 2 * LINE_MAX);
        found.or_else(|| scanner.end())
    }

    #[test]
    fn it_is_found_however_the_text_is_cut() {
        let text = format!(
            "# HELP kubelet_credential_provider_config_info the hash\n# TYPE kubelet_credential_provider_config_info gauge\n\
             kubelet_credential_provider_config_infos 3\n{LINE}\nother{{a=\"b\"}} 1\n"
        );
        for piece in 1..text.len() {
            assert_eq!(scan(&text, piece), ConfigHash::parse(HASH), "pieces of {piece}");
        }
        assert_eq!(scan(LINE, 7), ConfigHash::parse(HASH), "without the last line break");
    }

    #[test]
    fn a_text_without_it_has_none() {
        for text in [
            "",
            "\n\n",
            "kubelet_credential_provider_config_info{hash=\"sha256:12\"} 1\n",
            "kubelet_credential_provider_config_info{hash=\"",
            "kubelet_credential_provider_config_info{} 1\n",
            &format!("x{LINE}\n"),
            &format!("# {LINE}\n"),
        ] {
            assert_eq!(scan(text, 3), None, "{text}");
        }
    }

    #[test]
    fn other_labels_cannot_pass_for_it() {
        let with = |labels: &str| LINE.replace('{', &format!("{{{labels}"));
        assert_eq!(scan(&with(r#"a="\"hash=\"sha256:0\\","#), 5), ConfigHash::parse(HASH));
        assert_eq!(scan(&with(r#"no_hash="b", "#), 5), ConfigHash::parse(HASH));
        assert_eq!(scan(&LINE.replace("hash=", "no_hash="), 9), None);
    }

    #[test]
    fn long_lines_are_not_kept() {
        let long = format!("{}{}\n{LINE}\n", String::from_utf8_lossy(METRIC), "a".repeat(1 << 20));
        assert_eq!(scan(&long, 1 << 16), ConfigHash::parse(HASH));
        assert_eq!(scan(&long, long.len()), ConfigHash::parse(HASH));
    }
}
