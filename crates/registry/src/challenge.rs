//! `WWW-Authenticate`: the challenges with which a registry asks the client to authenticate.

/// One challenge: a scheme and its parameters, with names in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The value of a parameter, if it is present and not empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Parses all challenges of all headers of that name. Skips what it cannot parse, up to the next comma.
pub(crate) fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for header in headers {
        let mut rest = header;
        while let Some(found) = challenge_or_parameter(&mut rest) {
            match found {
                HeaderPart::Scheme(scheme) => challenges.push(Challenge { scheme, parameters: Vec::new() }),
                HeaderPart::Parameter(name, value) => {
                    if let Some(challenge) = challenges.last_mut() {
                        challenge.parameters.push((name, value));
                    }
                }
                HeaderPart::Nothing => {}
            }
        }
    }
    challenges
}

/// One part of a `WWW-Authenticate` header.
enum HeaderPart {
    Scheme(String),
    Parameter(String, String),
    /// Something that is neither.
    Nothing,
}

/// Takes one word and what belongs to it. A word before `=` is a parameter, any other is a scheme. Commas separate
/// both, which is what makes this header hard to parse.
fn challenge_or_parameter(rest: &mut &str) -> Option<HeaderPart> {
    *rest = rest.trim_start_matches([' ', '\t', ',']);
    if rest.is_empty() {
        return None;
    }
    let word = take_token(rest);
    if word.is_empty() {
        skip_to_comma(rest);
        return Some(HeaderPart::Nothing);
    }
    let after = rest.trim_start_matches([' ', '\t']);
    // In `Negotiate YWJj==`, the `=` characters belong to a token. It is read as a scheme of its own, which nobody
    // answers.
    let Some(value) = after.strip_prefix('=').filter(|value| !value.starts_with(['=', ','])) else {
        return Some(HeaderPart::Scheme(word.to_ascii_lowercase()));
    };
    *rest = value.trim_start_matches([' ', '\t']);
    let value = if rest.starts_with('"') { take_quoted(rest) } else { take_token(rest).to_owned() };
    Some(HeaderPart::Parameter(word.to_ascii_lowercase(), value))
}

fn take_token<'a>(rest: &mut &'a str) -> &'a str {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~/:".contains(&byte);
    let end = rest.bytes().position(|byte| !is_token(byte)).unwrap_or(rest.len());
    let (token, after) = rest.split_at(end);
    *rest = after;
    token
}

/// Takes a quoted string; one that does not end takes everything that is left.
fn take_quoted(rest: &mut &str) -> String {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                *rest = &rest[at + 1..];
                return value;
            }
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    *rest = "";
    value
}

fn skip_to_comma(rest: &mut &str) {
    let end = rest.find(',').unwrap_or(rest.len());
    *rest = &rest[end..];
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(header in "[ -~é\\t]{0,60}") {
            // The parser looks at each character a bounded number of times, so it ends; and no slice is cut within a
            // character.
            prop_assert!(parse([header.as_str()]).len() <= header.len());
        }

        #[test]
        fn challenges_read_as_they_are_written(
            written in vec(("[a-z]{1,8}", vec(("[a-z]{1,8}", "[ -~]{1,12}"), 0..4)), 0..4)
        ) {
            let header: Vec<String> = written.iter().map(|(scheme, parameters)| {
                let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"");
                let parameters: Vec<String> = parameters.iter()
                    .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
                    .collect();
                format!("{scheme} {}", parameters.join(","))
            }).collect();
            let read = parse([header.join(", ").as_str()]);
            let read: Vec<_> = read.into_iter().map(|challenge| (challenge.scheme, challenge.parameters)).collect();
            prop_assert_eq!(read, written);
        }
    }

    fn schemes(headers: &[&str]) -> Vec<String> {
        parse(headers.iter().copied()).into_iter().map(|challenge| challenge.scheme).collect()
    }

    #[test]
    fn a_token_service_is_named_by_its_parameters() {
        let header = r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a:pull,push""#;
        let challenges = parse([header]);
        assert_eq!(challenges.len(), 1);
        let challenge = &challenges[0];
        assert_eq!(challenge.scheme, "bearer");
        assert_eq!(challenge.parameter("realm"), Some("https://auth.docker.io/token"));
        assert_eq!(challenge.parameter("service"), Some("registry.docker.io"));
        assert_eq!(challenge.parameter("scope"), Some("repository:a:pull,push"));
        assert_eq!(challenge.parameter("error"), None);
    }

    #[test]
    fn several_challenges_come_in_one_header_or_in_several() {
        assert_eq!(
            schemes(&[r#"Basic realm="x", Bearer realm="https://a/t" , Negotiate"#]),
            ["basic", "bearer", "negotiate"]
        );
        assert_eq!(schemes(&["Negotiate", "BASIC realm=x"]), ["negotiate", "basic"]);
    }

    #[test]
    fn quotes_may_hold_commas_and_escapes() {
        let challenges = parse([r#"Basic realm="a \"b\", Bearer c", charset=UTF-8"#]);
        assert_eq!(challenges.len(), 1);
        assert_eq!(challenges[0].parameter("realm"), Some(r#"a "b", Bearer c"#));
        assert_eq!(challenges[0].parameter("charset"), Some("UTF-8"));
    }

    #[test]
    fn nonsense_neither_hangs_nor_hides_what_follows() {
        for nonsense in ["", ",,,", "=", "\"", "Basic realm=\"", "é", "=x,", "Basic realm="] {
            let _ = schemes(&[nonsense]);
        }
        assert_eq!(schemes(&["\u{7}\u{7}, Basic realm=x"]), ["basic"]);
        assert!(parse([r#"realm="x""#]).is_empty());
    }
}
