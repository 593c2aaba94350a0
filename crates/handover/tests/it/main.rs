//! The contract at its edge: real folders, real processes, and death at every system call.
//!
//! This program is also the plugin and the sweeper of its tests: started as `it actor …` it plays one of them,
//! on its main thread alone, so that a tracer can count its system calls.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by a panic")]

mod actor;
mod claiming;
mod clearing;
mod folders;
mod killed;
mod parallel;
mod putting;
mod stage;
mod sweeping;
mod tickets;

use std::panic::catch_unwind;
use std::process::ExitCode;

/// One test: its name, and what it runs.
type Test = (&'static str, fn());

/// Names each function as `module::function`.
macro_rules! tests {
    ($($module:ident: $($test:ident),+ $(,)?;)+) => {
        &[$($((concat!(stringify!($module), "::", stringify!($test)), $module::$test as fn())),+),+]
    };
}

const TESTS: &[Test] = tests! {
    folders:
        a_relative_path_is_refused,
        a_missing_folder_is_made_for_us_alone,
        the_folder_that_cri_o_makes_is_accepted,
        a_symlink_is_refused_however_it_is_written,
        a_file_in_its_place_is_refused,
        a_folder_that_others_can_write_is_refused,
        a_folder_of_somebody_else_is_refused,
        what_happens_to_the_path_later_does_not_matter;
    putting:
        a_file_stands_whole_and_readable_by_us_alone,
        a_put_waits_until_the_earlier_file_is_taken,
        a_file_that_stood_too_long_is_replaced,
        an_old_mtime_does_not_make_a_file_stale,
        at_the_deadline_nothing_is_left_behind,
        a_folder_where_the_file_should_be_is_reported,
        a_symlink_where_the_file_should_be_is_reported_and_not_followed,
        a_full_disk_leaves_nothing,
        a_read_only_folder_leaves_nothing;
    claiming:
        a_claim_takes_the_file_and_removes_it_at_the_end,
        a_claim_is_removed_when_the_pull_panics,
        without_a_file_there_is_nothing_to_claim,
        one_file_is_claimed_once,
        what_is_not_a_file_is_left_as_it_is,
        an_in_use_that_leads_elsewhere_is_refused;
    clearing:
        a_name_is_remembered_once_a_file_was_put,
        what_nobody_takes_is_removed,
        what_is_taken_in_time_is_left_to_its_pull,
        who_puts_waits_for_who_clears,
        a_sleeping_sweeper_sees_what_comes;
    tickets:
        each_ticket_is_worth_its_own_file_once,
        a_ticket_is_for_one_namespace_and_one_repository,
        without_a_taker_there_is_no_ticket,
        a_taker_that_restarts_is_waited_for,
        there_is_one_taker,
        a_ticket_that_nobody_shows_goes;
    sweeping:
        what_is_not_ours_stays,
        a_plugin_at_work_is_not_swept_from_under,
        a_put_sweeps_what_others_left,
        an_unclaimed_file_goes_without_another_put,
        what_a_dead_runtime_left_goes_without_another_put,
        the_sweeper_has_nothing_of_the_plugin,
        there_is_one_sweeper_for_many_puts,
        a_sweeper_does_not_end_under_a_put,
        who_asks_is_not_taken_for_a_sweeper,
        no_put_is_left_without_a_sweeper;
    parallel:
        fifty_pulls_of_one_name_find_a_file_each,
        one_stale_file_costs_no_pull_its_own,
        other_names_do_not_wait;
    killed:
        at_each_system_call_of_a_put,
        at_each_system_call_of_a_put_that_replaces,
        at_each_system_call_of_a_put_for_a_ticket;
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("actor", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return actor::play(rest);
    }
    let (mut wanted, mut skipped) = (Vec::new(), Vec::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--skip" => skipped.extend(words.next()),
            option if option.starts_with('-') => {}
            _ => wanted.push(word),
        }
    }
    let names = |part: &&String, name: &str| name.contains(part.as_str());
    let chosen = TESTS.iter().filter(|(name, _)| {
        (wanted.is_empty() || wanted.iter().any(|part| names(part, name)))
            && !skipped.iter().any(|part| names(part, name))
    });
    if args.iter().any(|arg| arg == "--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, test) in chosen {
        // The panic itself has said what was wrong.
        if catch_unwind(test).is_ok() {
            println!("test {name} ... ok");
            passed += 1;
        } else {
            println!("test {name} ... FAILED");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        println!("\ntest result: ok. {passed} passed; 0 failed");
        return ExitCode::SUCCESS;
    }
    println!("\ntest result: FAILED. {passed} passed; {} failed {failed:?}", failed.len());
    ExitCode::FAILURE
}
