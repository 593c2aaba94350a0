//! Switching files at its edge: real folders, real processes, death at every system call, and every error of a disk.
//!
//! This program is also the agent of its tests: started as `it agent …` it does one thing on its main thread, so that a tracer
//! can count its system calls.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by a panic")]

mod agent;
mod failing;
mod killed;
mod mounts;
mod properties;
mod refusing;
mod restoring;
mod stage;
mod state;
mod switching;
mod synced;
mod traced;
mod updating;

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
    switching:
        files_are_as_wanted_and_then_as_before,
        what_is_as_wanted_keeps_inode_and_times,
        the_same_configuration_again_writes_nothing,
        what_is_no_longer_wanted_is_as_it_was_before_us,
        a_roll_back_leads_to_the_last_configuration,
        a_roll_back_makes_folders_that_are_gone,
        a_roll_back_is_open_until_services_have_followed,
        a_switch_that_fails_midway_is_open_until_services_have_followed,
        what_a_reboot_lost_is_written_again,
        a_label_stays_and_a_list_of_others_does_not,
        a_strict_umask_changes_nothing;
    refusing:
        an_edit_by_others_is_left_alone,
        an_edit_by_others_during_a_switch_is_not_rolled_back,
        what_is_not_a_file_is_left_alone,
        a_link_cannot_lead_outside,
        two_paths_to_one_file_are_refused;
    restoring:
        everything_is_as_before,
        edits_by_others_stay_and_so_do_their_originals,
        folders_that_others_use_stay,
        what_does_not_work_without_us_can_be_rolled_back,
        the_program_needs_nobody_for_it,
        the_program_says_what_it_leaves,
        state_of_what_is_interrupted_stays;
    state:
        it_is_for_us_alone,
        a_second_agent_waits_or_is_refused,
        a_journal_of_another_version_is_left_alone,
        originals_without_a_journal_are_left_alone,
        a_damaged_content_is_not_written,
        a_folder_without_var_lib_is_not_a_node;
    mounts:
        a_full_disk_changes_nothing,
        a_read_only_folder_changes_nothing,
        a_file_that_is_mounted_is_refused;
    properties:
        switches_in_any_order_end_where_they_should;
    killed:
        at_each_system_call_of_a_first_switch,
        at_each_system_call_of_a_switch,
        at_each_system_call_of_a_roll_back,
        at_each_system_call_of_restoring,
        at_each_system_call_of_finishing,
        at_each_system_call_of_undoing;
    updating:
        killed_at_each_system_call_of_one_that_works,
        killed_at_each_system_call_of_one_that_does_not,
        killed_at_each_system_call_of_taking_it_away,
        services_that_do_not_follow_back_are_told_again;
    synced:
        one_thing_is_on_disk_before_the_next_begins;
    failing:
        at_each_system_call_of_a_switch,
        at_each_system_call_of_a_roll_back,
        at_each_system_call_of_restoring;
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, deed, root] = &args[..]
        && first == "agent"
    {
        return agent::run(deed, root.as_ref());
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
    let chosen = TESTS.iter().filter(|(name, _)| {
        (wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())))
            && !skipped.iter().any(|part| name.contains(part.as_str()))
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
