//! What this program does when a test starts it again: it is a plugin that puts one file, or a sweeper.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pullwright_handover::{AuthFileName, Bounds, Earlier, Handover, SweepBounds, SweeperCommand};

/// Where an actor works and with which bounds: arguments, since a sweeper gets no environment.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) auth: String,
    pub(crate) locks: String,
    pub(crate) bounds: Bounds,
}

impl Scene {
    pub(crate) fn open(&self) -> Handover {
        Handover::open(Path::new(&self.auth), Path::new(&self.locks), self.bounds).expect("the folders open")
    }

    pub(crate) fn sweeper(&self) -> SweeperCommand {
        SweeperCommand::new(self.args("sweep"))
    }

    pub(crate) fn args(&self, role: &str) -> Vec<String> {
        let SweepBounds { unclaimed, ticket, temporary, in_use } = self.bounds.sweep;
        let millis =
            [self.bounds.stood, unclaimed, ticket, temporary, in_use].map(|d| d.as_millis().to_string());
        [&["actor".into(), role.into(), self.auth.clone(), self.locks.clone()], &millis[..]].concat()
    }

    fn parse(args: &[String]) -> (Self, &[String]) {
        let (folders, rest) = args.split_at(2);
        let (times, rest) = rest.split_at(5);
        let time = |at: usize| Duration::from_millis(times[at].parse().expect("milliseconds"));
        let sweep = SweepBounds { unclaimed: time(1), ticket: time(2), temporary: time(3), in_use: time(4) };
        let bounds = Bounds { stood: time(0), sweep };
        (Self { auth: folders[0].clone(), locks: folders[1].clone(), bounds }, rest)
    }
}

/// What an auth file holds in these tests: long enough to be written in pieces, and whole only with its end.
pub(crate) fn content(id: &str) -> Vec<u8> {
    format!("{id} {} end", "canary-".repeat(20_000)).into_bytes()
}

/// Whose file this is; fails if it is not whole.
pub(crate) fn id_of(read: &[u8]) -> String {
    let text = std::str::from_utf8(read).expect("text");
    let id = text.split(' ').next().expect("an id").to_owned();
    assert!(read == content(&id), "a partial file of {} bytes", read.len());
    id
}

/// `put SCENE IMAGE ID` prints what happened to the earlier file; `put-for-ticket` prints nothing; `sweep SCENE` is the sweeper.
pub(crate) fn play(args: &[String]) -> ExitCode {
    let (role, rest) = args.split_first().expect("a role");
    let (scene, rest) = Scene::parse(rest);
    if role == "sweep" {
        scene.open().run_sweeper(|_| ()).expect("it sweeps");
        return ExitCode::SUCCESS;
    }
    let [image, id] = rest else { panic!("put needs an image and an id") };
    let name = name(image);
    let handover = match Handover::open(Path::new(&scene.auth), Path::new(&scene.locks), scene.bounds) {
        Ok(handover) => handover,
        Err(error) => return complain(&error),
    };
    let deadline = Instant::now() + Duration::from_mins(2);
    if role == "put-for-ticket" {
        return match handover.put_for_ticket(&name, &content(id), deadline, &scene.sweeper()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => complain(&error),
        };
    }
    match handover.put(&name, &content(id), deadline, &scene.sweeper()) {
        Ok(put) => {
            put.tidying.sweeper.expect("a sweeper");
            println!("{}", said(put.earlier));
            ExitCode::SUCCESS
        }
        Err(error) => complain(&error),
    }
}

pub(crate) fn name(image: &str) -> AuthFileName {
    AuthFileName::new(&"default".parse().expect("a namespace"), image).expect("a name")
}

pub(crate) fn said(earlier: Earlier) -> &'static str {
    match earlier {
        Earlier::None => "none",
        Earlier::Taken => "taken",
        Earlier::Replaced => "replaced",
    }
}

fn complain(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}
