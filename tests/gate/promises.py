"""Every heavy test of the gate, in the lane that runs it, each with the promise that it holds.

All other heavy tests run by `make test-all`. A name stands for a test with all its parameters; one with `[…]` for that case alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.gate.lanes import Lane


@dataclass(frozen=True, slots=True)
class Held:
    """Tests of one file that hold a promise together."""

    promise: str
    file: str
    tests: tuple[str, ...]

    def ids(self) -> tuple[str, ...]:
        return tuple(f"{self.file}::{test}" for test in self.tests)


COMMANDS = (
    Held(
        "convert commits once, what was inspected, and claims no commit of somebody else",
        "tests/jobs/commands/convert/test_spark.py",
        (
            "test_several_columns_in_order_and_without_regard_to_case",
            "test_the_result_is_what_delta_recorded",
            "test_another_engine_reads_the_same_rows",
            "test_a_delta_table_is_a_no_op_that_says_so",
            "test_files_that_come_and_go_in_the_same_layout_are_named",
            "test_two_converts_at_once_never_make_two_first_commits",
            "test_someone_elses_first_commit_is_never_claimed",
        ),
    ),
    Held(
        "a directory that can't become a right table is refused by name, and left as it was",
        "tests/jobs/commands/convert/test_spark_refusals.py",
        (
            "test_a_stray_file_is_named_and_delta_would_have_failed",
            "test_a_partition_directory_of_a_delta_table_is_refused",
            "test_a_nested_table_is_refused",
            "test_links_below_the_directory_are_refused",
            "test_conflicting_footers_are_refused_with_the_column",
            "test_a_reason_that_came_after_the_preview_ends_the_run",
            "test_a_new_layout_after_the_preview_ends_the_run",
            "test_a_failed_convert_leaves_the_directory_as_it_was",
        ),
    ),
    Held(
        "a delete removes the rows that were approved, by one commit with the job's mark, or none",
        "tests/jobs/commands/delete/test_spark.py",
        (
            "test_every_branch_is_counted_run_and_told[whole table-plain]",
            "test_every_branch_is_counted_run_and_told[partition-change feed]",
            "test_every_branch_is_counted_run_and_told[rewrite-plain]",
            "test_every_branch_is_counted_run_and_told[vectors-change feed]",
            "test_the_commit_carries_the_marks",
            "test_a_second_attempt_finds_what_the_first_has_committed",
            "test_the_commit_is_told_from_others_that_came_at_once",
            "test_a_strict_run_refuses_a_table_that_has_moved",
            "test_a_strict_run_that_is_overtaken_commits_nothing",
            "test_an_append_only_table_refuses_in_deltas_words",
            "test_the_witness_reads_what_is_left",
            "test_a_cancel_ends_it_and_nothing_is_committed",
            "test_a_table_that_leads_out_of_its_directory_is_left_alone",
            "test_a_log_that_names_a_file_elsewhere_is_not_counted",
        ),
    ),
    Held(
        "F14: undo brings back the rows that were there before, and proves it",
        "tests/jobs/commands/restore/test_spark.py",
        (
            "test_rows_come_back_and_are_proven[vectors]",
            "test_what_vacuum_has_removed_is_refused_before_it_starts[plain]",
            "test_rows_that_differ_are_no_proof",
            "test_rows_after_an_undo_are_those_before_for_another_engine[0]",
        ),
    ),
    Held(
        "a vacuum deletes what its preview named, and no version more",
        "tests/jobs/commands/vacuum/test_spark.py",
        (
            "test_exactly_the_versions_that_it_names_die[0]",
            "test_exactly_the_versions_that_it_names_die[1]",
            "test_without_the_class_delta_refuses_and_with_the_rest_of_its_plan_it_runs",
            "test_what_was_removed_since_the_preview_stays",
            "test_a_clock_behind_that_of_the_preview_is_no_shorter_retention",
        ),
    ),
    Held(
        "upkeep changes no row: it does what the log predicts",
        "tests/jobs/commands/optimize/test_spark.py",
        (
            "test_what_the_log_predicts_is_what_delta_does[plain]",
            "test_what_the_log_predicts_is_what_delta_does[vectors]",
        ),
    ),
    Held(
        "upkeep changes no row: it does what the log predicts",
        "tests/jobs/commands/reorg/test_spark.py",
        ("test_deleted_rows_are_purged_partition_by_partition_until_nothing_is_left",),
    ),
    Held(
        "a repair takes out the files that were approved as missing, and no others",
        "tests/jobs/commands/repair/test_spark.py",
        ("test_the_missing_files_leave_with_their_rows_and_all_engines_read_the_rest",),
    ),
    Held(
        "properties, features and schema come out as predicted, commit by commit, and what Delta refuses never starts",
        "tests/jobs/commands/set_properties/test_spark.py",
        (
            "test_what_is_set_and_what_is_unset_are_two_commits_of_the_job",
            "test_if_the_second_commit_fails_the_first_one_is_recorded",
        ),
    ),
    Held(
        "properties, features and schema come out as predicted, commit by commit, and what Delta refuses never starts",
        "tests/jobs/commands/drop_feature/test_spark.py",
        (
            "test_a_writer_feature_goes_at_once_and_lowers_the_protocol",
            "test_what_delta_refuses_is_refused_before_spark_with_its_condition[columnMapping-False]",
        ),
    ),
    Held(
        "properties, features and schema come out as predicted, commit by commit, and what Delta refuses never starts",
        "tests/jobs/commands/alter_schema/test_spark.py",
        (
            "test_every_kind_of_change_comes_out_as_predicted_in_one_commit_each",
            "test_rows_that_violate_a_constraint_are_counted_and_it_is_refused_in_delta_s_words",
            "test_a_schema_that_changed_after_the_check_makes_it_stale",
        ),
    ),
    Held(
        "a clone is a table of its own and touches neither its source nor what lies at its target",
        "tests/jobs/commands/clone/test_spark.py",
        (
            "test_a_deep_clone_holds_copies_alone_and_another_engine_reads_the_same_rows",
            "test_a_target_that_is_not_empty_is_left_alone",
        ),
    ),
)

ENGINE = (
    Held(
        "streams: a batch is committed once, with the job's marks, or not at all",
        "tests/jobs/commands/stream_round/test_spark.py",
        (
            "test_every_batch_is_a_commit_with_the_jobs_marks",
            "test_a_batch_that_delta_has_is_skipped_and_told_with_its_version",
            "test_a_damaged_line_fails_the_round_and_commits_nothing_of_its_batch",
            "test_complete_removes_no_row_of_a_table_that_it_was_to_make_itself",
            "test_a_target_made_anew_or_gone_is_refused",
            "test_another_querys_checkpoint_or_none_is_refused",
            "test_a_cancel_ends_the_round",
        ),
    ),
    Held(
        "F10: nothing outside the table's directory is read, whatever a log or a link says",
        "tests/jobs/engine/test_rows.py",
        (
            "test_every_type_is_exact_json",
            "test_a_file_outside_the_table_is_not_read",
            "test_a_removed_file_outside_the_table_is_not_read_either",
            "test_a_foreign_deletion_vector_is_not_read",
            "test_a_link_is_not_followed",
        ),
    ),
    Held(
        "F10: nothing outside the table's directory is read, whatever a log or a link says",
        "tests/jobs/engine/test_swaps.py",
        ("test_a_table_swapped_at_any_step_leads_nowhere[delete]",),
    ),
    Held(
        "no user text reaches Spark's SQL parser",
        "tests/jobs/engine/test_catalog.py",
        ("test_hostile_columns_and_places_are_literal", "test_a_default_in_a_schema_never_reaches_the_statement"),
    ),
    Held(
        "sessions pin what a condition means, and a job's settings end with it",
        "tests/jobs/engine/test_session.py",
        (
            "test_settings_marks_and_tags_end_with_the_job",
            "test_time_and_ansi_are_pinned",
            "test_environment_variables_are_not_expanded",
            "test_functions_that_call_java_are_gone",
            "test_cancel_ends_one_tag_and_spares_the_others",
        ),
    ),
    Held(
        "F9: previews say what can't, may and must match, and are never wrong",
        "tests/jobs/engine/test_preview_soundness.py",
        ("test_nothing_wrong_is_said_of_tables_that_others_wrote[0]",),
    ),
    Held(
        "rows before and after are counted and hashed as they are",
        "tests/jobs/engine/test_measuring.py",
        (
            "test_files_are_named_as_the_log_names_them",
            "test_a_predicate_that_fails_on_a_row_fails_the_preview",
            "test_the_witness_counts_the_same",
        ),
    ),
    Held(
        "the log is read as Spark reads it",
        "tests/jobs/engine/test_log_witness.py",
        ("test_a_multi_part_checkpoint", "test_a_converted_directory"),
    ),
    Held(
        "the live DeltaTableV2 is told with every member, and without secrets",
        "tests/jobs/engine/test_table_v2.py",
        ("test_every_member_is_there_and_is_json", "test_secrets_are_masked", "test_time_travel_by_path_and_by_option"),
    ),
    Held(
        "tables of an object store are changed as those of a disk, and a new key counts for the next attempt",
        "tests/jobs/engine/test_s3.py",
        (
            "test_a_directory_is_converted_and_its_rows_are_deleted_restored_and_read",
            "test_a_new_key_counts_for_the_next_attempt_and_no_program_lists_it",
        ),
    ),
)

JOBS = (
    Held(
        "F1, F2: a job has one effect, and its state is the table's truth, whoever dies",
        "tests/jobs/test_grid.py",
        (
            *(
                f"test_one_death_costs_at_most_an_attempt[{point}-{victim}]"
                for point in ("claimed", "data_files_written", "commit_visible")
                for victim in ("child", "jvm", "main")
            ),
            "test_two_deaths_exhaust_the_attempts",
            "test_a_convert_goes_all_the_way_and_survives_its_deaths",
            "test_a_jvm_that_commits_after_its_worker_died_has_one_effect",
            "test_a_worker_frozen_past_its_lease_is_ended_not_awaited[data files written]",
            "test_a_frozen_jvm_is_ended_when_its_job_is_cancelled",
            "test_a_cancel_stops_work_at_once",
            "test_fifty_wake_ups_at_once_run_a_job_once",
            "test_ten_jobs_at_once_on_one_table_all_land",
            "test_without_a_dispatcher_work_goes_on_and_a_lost_job_waits_for_one",
            "test_a_frozen_worker_on_another_host_makes_its_job_stale_and_its_late_commit_known",
        ),
    ),
    Held(
        "F3: no acknowledged request is lost with Redis, nor with PostgreSQL",
        "tests/jobs/test_grid.py",
        (
            "test_redis_killed_and_emptied_loses_no_request[data files written]",
            "test_postgresql_killed_loses_no_job[data files written]",
            "test_postgresql_killed_loses_no_job[commit visible]",
        ),
    ),
    Held(
        "F4: no acknowledged audit event is lost when PostgreSQL is killed",
        "tests/soak/test_audit.py",
        ("test_no_acknowledged_event_is_lost_when_postgresql_is_killed",),
    ),
)

DELTA = (
    Held(
        "F1, F2 with a real JVM and real Delta",
        "tests/jobs/test_real_delta.py",
        ("test_a_delete_whose_worker_dies_has_one_effect[commit_visible-child]",),
    ),
)

STREAMS = (
    Held(
        "a stream that is killed loses and doubles no row",
        "tests/soak/test_streams.py",
        ("test_a_stream_killed_at_random_loses_and_doubles_nothing",),
    ),
)

UP = (
    Held(
        "one command starts the whole console, and it stops without a rest",
        "tests/console/test_up.py",
        (
            "test_it_prints_the_address_and_the_first_password_and_nothing_else",
            "test_it_opens_a_page_that_asks_to_sign_in",
            "test_health_names_every_part",
            "test_a_second_up_on_the_home_is_refused_naming_the_first",
            "test_a_killed_program_comes_back_and_is_named[light]",
            "test_it_goes_on_where_it_stopped_and_stops_completely[15]",
        ),
    ),
)

STORY = (
    Held(
        "a newcomer converts, deletes with a second person and undoes it, in the browser and by the API",
        "tests/journeys/test_story.py",
        (
            "test_the_first_story_is_played_to_its_undo_without_going_home",
            "test_a_convert_that_must_be_refused_leaves_the_directory_as_it_was",
        ),
    ),
)

# One page of each room; every page, in all its states, is in `make test-all`.
ROOMS = (
    "home", "sign-in", "person", "policy", "audit", "delete", "review", "schedules", "history", "jobs", "convert-ready", "workers",
)  # fmt: skip

BROWSER = (
    Held(
        "a page of each room is clean by axe, in both themes, at all widths",
        "tests/journeys/test_templates_axe.py",
        (
            *(
                f"test_a_page_is_clean_in_both_themes_at_all_widths_and_in_forced_colours[chromium-{name}]"
                for name in ROOMS
            ),
            "test_axe_says_what_is_wrong",
        ),
    ),
    Held(
        "F11: hostile texts run nothing",
        "tests/journeys/test_hostile_texts.py",
        ("test_no_text_runs_or_becomes_an_element",),
    ),
    Held(
        "what was looked at is what is approved, and a run is followed to its result and undone",
        "tests/journeys/test_review_story.py",
        (
            "test_a_second_person_finds_looks_and_approves_on_a_phone",
            "test_a_run_is_followed_to_its_result_and_undone",
        ),
    ),
    Held(
        "a form is sent once, and no click is lost",
        "tests/journeys/test_small_scripts.py",
        (
            "test_a_click_is_not_lost_where_an_answer_comes_while_the_button_is_down",
            "test_a_form_is_sent_once_though_its_button_is_clicked_twice",
        ),
    ),
    Held(
        "a condition is built by rules and by text, and nothing that is unfinished deletes anything",
        "tests/journeys/test_delete_page.py",
        ("test_rules_and_text_follow_each_other_while_somebody_types", "test_every_row_is_asked_for_by_name"),
    ),
)

# Those that use one kind of thing share a process: a JVM of the tests' own, instances whose parts are killed, whole consoles, a browser.
HEAVY: dict[str, tuple[tuple[Held, ...], float]] = {
    "spark": ((*COMMANDS, *ENGINE), 4.5),
    "jobs": ((*JOBS, *DELTA, *STREAMS), 3.5),
    "up": ((*UP, *STORY), 3.5),
    "browser": (BROWSER, 1.5),
}


def heavy_lanes() -> list[Lane]:
    """The lanes in their order; the names of the tests are pytest's arguments."""
    return [
        Lane(name, tuple(test for held in group for test in held.ids()), minutes)
        for name, (group, minutes) in HEAVY.items()
    ]


# Promises of docs/reliability.md that light tests hold.
LIGHT = {
    "F5": "tests/console/audit/test_no_change_without_audit.py",
    "F6": "tests/console/audit/integrity/test_verification.py",
    "F7": "tests/jobs/approvals/test_machine.py",
    "F8": "tests/guards/test_routes.py",
    "F9": "tests/jobs/predicates",
    "F10": "tests/tables/rules/test_locations.py",
    "F11": "tests/guards/test_hostile_texts.py",
    "F12": "tests/guards/test_generated_requests.py",
}

# How README's promises begin, and what holds each: a lane above, or a promise of docs/reliability.md.
README = {
    "The database is the source of truth": "jobs",
    "What was approved is what runs": "F7",
    "One writer per table": "jobs",
    "Levee lists, reads and changes nothing outside registered roots": "F10",
    "Levee writes every act to an append-only audit log first": "F5",
}
