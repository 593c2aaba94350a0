//! A file for a ticket goes to who shows the ticket, once, and to nobody else.

use std::fs;
use std::time::{Duration, Instant};

use pullwright_handover::{AuthFileName, PutForTicket, Ticket, TicketError};

use crate::actor::{content, id_of, name};
use crate::stage::{PATIENT, Stage, mode, swept_after, until};

impl Stage {
    fn put_for_ticket(&self, name: &AuthFileName, id: &str) -> Result<PutForTicket, TicketError> {
        let deadline = Instant::now() + Duration::from_mins(1);
        self.handover().put_for_ticket(name, &content(id), deadline, &self.scene.sweeper())
    }

    /// Whose credentials the ticket is worth.
    fn show(&self, name: &AuthFileName, ticket: &Ticket) -> Option<String> {
        let claim = self.handover().folder().claim_ticket(name, ticket).expect("nothing is in the way")?;
        Some(id_of(&claim.read().expect("it can be read")))
    }
}

pub(crate) fn each_ticket_is_worth_its_own_file_once() {
    let stage = Stage::new(PATIENT);
    let handover = stage.handover();
    let _taker = handover.take_tickets().expect("nobody else takes them");
    // Of one name, and none waits for another.
    let tickets = ["one", "two", "three"].map(|id| stage.put_for_ticket(&name("a"), id).expect("it is put"));
    assert_eq!((mode(&tickets[0].path), mode(stage.auth().join("tickets"))), (0o600, 0o700));
    assert!(stage.auth_is_empty(), "a runtime that knows no tickets finds none of them");
    for (at, id) in [(2, "three"), (0, "one"), (1, "two")] {
        assert_eq!(stage.show(&name("a"), &tickets[at].ticket).as_deref(), Some(id));
        assert_eq!(stage.show(&name("a"), &tickets[at].ticket), None, "a second time");
    }
    assert_eq!(stage.names(), [""; 0]);
}

pub(crate) fn a_ticket_is_for_one_namespace_and_one_repository() {
    let stage = Stage::new(PATIENT);
    let handover = stage.handover();
    let _taker = handover.take_tickets().expect("nobody else takes them");
    let put = stage.put_for_ticket(&name("a"), "one").expect("it is put");
    let elsewhere = AuthFileName::new(&"another".parse().unwrap(), "a").unwrap();
    assert_eq!(stage.show(&name("b"), &put.ticket), None);
    assert_eq!(stage.show(&elsewhere, &put.ticket), None);
    assert_eq!(stage.show(&name("a"), &put.ticket).as_deref(), Some("one"));
}

pub(crate) fn without_a_taker_there_is_no_ticket() {
    let stage = Stage::new(PATIENT);
    let error = stage.put_for_ticket(&name("a"), "one").expect_err("nobody would take it");
    assert!(matches!(&error, TicketError::NobodyTakes { .. }), "{error}");
    assert!(error.to_string().contains("start pullwright-images"), "{error}");
    assert_eq!(stage.names(), [""; 0]);
}

pub(crate) fn a_taker_that_restarts_is_waited_for() {
    let stage = Stage::new(PATIENT);
    let handover = stage.handover();
    drop(handover.take_tickets().expect("nobody else takes them"));
    std::thread::scope(|scope| {
        let put = scope.spawn(|| stage.put_for_ticket(&name("a"), "one"));
        std::thread::sleep(Duration::from_millis(300));
        let _taker = handover.take_tickets().expect("who asks goes");
        put.join().unwrap().expect("it is put");
    });
}

pub(crate) fn there_is_one_taker() {
    let stage = Stage::new(PATIENT);
    let (first, second) = (stage.handover(), stage.handover());
    let taker = first.take_tickets().expect("nobody else takes them");
    std::thread::scope(|scope| {
        let next = scope.spawn(|| second.take_tickets().map(drop));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!next.is_finished(), "somebody does");
        drop(taker);
        next.join().unwrap().expect("it is its turn");
    });
}

pub(crate) fn a_ticket_that_nobody_shows_goes() {
    let stage = Stage::new(swept_after(Duration::from_millis(300)));
    let handover = stage.handover();
    let _taker = handover.take_tickets().expect("nobody else takes them");
    let put = stage.put_for_ticket(&name("a"), "one").expect("it is put");
    let stranger = put.path.with_file_name("not-a-ticket.json");
    fs::write(&stranger, "somebody else's").unwrap();
    until("the file is gone", || !put.path.exists());
    until("the sweeper has ended", || stage.sweepers().is_empty());
    assert!(stranger.exists());
}
