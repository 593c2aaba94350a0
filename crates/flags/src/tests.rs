//! A program with made-up options: that each of them is one row, and that everything else follows from it.

use std::ffi::OsString;

use super::*;

#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    folder: std::path::PathBuf,
    loud: bool,
    /// The made-up option.
    colour: String,
    help: bool,
    verb: String,
}

const PROGRAM: Program<Settings> = Program {
    env_prefix: "MADE_UP_",
    usage: "made-up: a program.\n",
    word: |settings, word| {
        let known = word == "go" && settings.verb.is_empty();
        if known {
            "go".clone_into(&mut settings.verb);
        }
        known
    },
    sections: &[
        Section {
            title: "What it does",
            flags: &[
                Flag::value("folder", "DIR", "where things are [default: none]", |settings, value| {
                    settings.folder = value.path();
                    Ok(())
                }),
                // All that it takes to add an option.
                Flag::value(
                    "bike-shed-colour",
                    "red|blue",
                    "how to paint the bike shed",
                    |settings, value| {
                        let known = |text: &str| ["red", "blue"].contains(&text).then(|| text.to_owned());
                        settings.colour = value.parse_with("use red or blue", known)?;
                        Ok(())
                    },
                ),
                Flag::switch(
                    "so-loud-that-its-name-needs-a-line-of-its-own",
                    "say everything",
                    |settings, on| {
                        settings.loud = on;
                    },
                ),
            ],
        },
        Section {
            title: "",
            flags: &[Flag::question("help", "print this help", |settings| settings.help = true)],
        },
    ],
};

fn parsed(arguments: &[&str], vars: &[(&str, &str)]) -> Result<Settings, String> {
    let mut settings = Settings::default();
    let var = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
    let result = PROGRAM.parse(&mut settings, arguments.iter().map(OsString::from), &var);
    result.map(|()| settings).map_err(|error| error.to_string())
}

#[test]
fn one_row_makes_an_option_everywhere() {
    assert_eq!(parsed(&["--bike-shed-colour", "blue"], &[]).unwrap().colour, "blue");
    assert_eq!(
        parsed(&["--bike-shed-colour=red"], &[("MADE_UP_BIKE_SHED_COLOUR", "blue")]).unwrap().colour,
        "red"
    );
    assert_eq!(parsed(&[], &[("MADE_UP_BIKE_SHED_COLOUR", "blue")]).unwrap().colour, "blue");
    assert!(
        PROGRAM.help().contains("\n  --bike-shed-colour red|blue  how to paint the bike shed\n"),
        "{}",
        PROGRAM.help()
    );
    let row =
        "\n| `--bike-shed-colour red\\|blue` | `MADE_UP_BIKE_SHED_COLOUR` | how to paint the bike shed |\n";
    assert!(PROGRAM.markdown().contains(row), "{}", PROGRAM.markdown());
}

#[test]
fn what_is_refused_says_where_it_was_and_what_to_use() {
    let said = "--bike-shed-colour does not take \"green\": use red or blue";
    assert_eq!(parsed(&["--bike-shed-colour", "green"], &[]).unwrap_err(), said);
    let said = "MADE_UP_BIKE_SHED_COLOUR does not take \"green\": use red or blue";
    assert_eq!(parsed(&[], &[("MADE_UP_BIKE_SHED_COLOUR", "green")]).unwrap_err(), said);
    assert_eq!(parsed(&["--bogus"], &[]).unwrap_err(), "invalid option '--bogus'");
    assert_eq!(parsed(&["-x"], &[]).unwrap_err(), "invalid option '-x'");
    assert_eq!(parsed(&["stop"], &[]).unwrap_err(), "unexpected argument \"stop\"");
    assert_eq!(parsed(&["--folder"], &[]).unwrap_err(), "missing argument for option '--folder'");
}

#[test]
fn a_switch_is_on_by_its_name_and_on_or_off_in_the_environment() {
    let name = "so-loud-that-its-name-needs-a-line-of-its-own";
    let variable = format!("MADE_UP_{}", name.replace('-', "_").to_uppercase());
    assert!(parsed(&[&format!("--{name}")], &[]).unwrap().loud);
    for (value, on) in [
        ("true", true),
        ("1", true),
        ("yes", true),
        ("false", false),
        ("0", false),
        ("no", false),
        ("", false),
    ] {
        assert_eq!(parsed(&[], &[(&variable, value)]).unwrap().loud, on, "{value}");
    }
    assert_eq!(
        parsed(&[], &[(&variable, "off")]).unwrap_err(),
        format!("{variable} does not take \"off\": use true or false")
    );
}

#[test]
fn a_question_ends_the_reading_and_is_not_asked_by_the_environment() {
    for help in ["--help", "-h"] {
        let settings = parsed(&["go", help, "--bogus"], &[]).unwrap();
        assert!(settings.help && settings.verb == "go");
    }
    assert!(!parsed(&[], &[("MADE_UP_HELP", "true")]).unwrap().help);
}

#[test]
fn help_begins_in_one_column_and_keeps_within_the_line() {
    let text = "word ".repeat(60);
    assert!(help::wrapped(&text, 89).iter().all(|line| line.len() <= 89));
    assert_eq!(
        PROGRAM.help(),
        "made-up: a program.\n\n\
         What it does\n  \
           --folder DIR                 where things are [default: none]\n  \
           --bike-shed-colour red|blue  how to paint the bike shed\n  \
           --so-loud-that-its-name-needs-a-line-of-its-own\n                               say everything\n\n  \
           --help                       print this help\n"
    );
}
