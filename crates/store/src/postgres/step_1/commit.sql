-- Commits: changes of journals and records behind a fence.

-- Makes all changes of a commit or none. Returns the last sequence number of the journal, 0
-- without an append, and then the new versions of the records.
CREATE FUNCTION hookwright.commit(
    client bytea, call_number bigint,
    fence_lease bytea, fence_token bigint,
    drop_projects bytea[], drop_sessions bytea[],
    append_project bytea, append_session bytea, append_expected bigint, new_entries bytea[],
    expect_kinds text[], expect_projects bytea[], expect_names bytea[], expect_states bigint[],
    delete_kinds text[], delete_projects bytea[], delete_names bytea[], delete_states bigint[],
    put_kinds text[], put_projects bytea[], put_names bytea[], put_states bigint[],
    put_values bytea[], put_created_at bigint[], put_statuses bytea[],
    put_lanes bytea[], put_ranks bigint[], moves_from bytea[], moves_to bytea[],
    -- The lists of all puts one after the other, and the length of each.
    put_waits_for bytea[], put_waits_for_counts bigint[],
    put_needs bytea[], put_needs_counts bigint[], releases_lease bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
    part record;
    waits_for_used integer := 0;
    needs_used integer := 0;
BEGIN
    IF call_result IS NOT NULL THEN
        RETURN call_result;
    END IF;
    IF fence_lease IS NOT NULL THEN
        PERFORM hookwright.check_fence(fence_lease, fence_token);
    END IF;
    IF cardinality(drop_projects) > 0 THEN
        FOR part IN SELECT * FROM unnest(drop_projects, drop_sessions) AS d (project, session) LOOP
            PERFORM hookwright.drop_journal(part.project, part.session);
        END LOOP;
    END IF;
    call_result := ARRAY[0::bigint];
    IF append_project IS NOT NULL THEN
        call_result[1] :=
            hookwright.append(append_project, append_session, append_expected, new_entries);
    END IF;
    IF cardinality(expect_kinds) > 0 THEN
        FOR part IN SELECT * FROM
            unnest(expect_kinds, expect_projects, expect_names, expect_states) WITH ORDINALITY
            AS e (kind, project, name, state, place)
        LOOP
            PERFORM hookwright.expect(part.kind, part.project, part.name, part.state, part.place);
        END LOOP;
    END IF;
    IF cardinality(delete_kinds) > 0 THEN
        FOR part IN SELECT * FROM
            unnest(delete_kinds, delete_projects, delete_names, delete_states) WITH ORDINALITY
            AS d (kind, project, name, state, place)
        LOOP
            PERFORM hookwright.delete_record(
                part.kind, part.project, part.name, part.state, part.place);
        END LOOP;
    END IF;
    IF cardinality(put_kinds) > 0 THEN
        FOR part IN SELECT * FROM
            unnest(put_kinds, put_projects, put_names, put_states, put_values, put_created_at,
                put_statuses, put_lanes, put_ranks, moves_from, moves_to, put_waits_for_counts,
                put_needs_counts) WITH ORDINALITY
            AS p (kind, project, name, state, value, created_at, status, lane, rank, moves_from,
                moves_to, waits_for_count, needs_count, place)
        LOOP
            call_result := call_result || hookwright.put_record(
                part.kind, part.project, part.name, part.state, part.place, part.value,
                part.created_at, part.status, part.lane, part.rank,
                put_waits_for[waits_for_used + 1 : waits_for_used + part.waits_for_count],
                put_needs[needs_used + 1 : needs_used + part.needs_count]);
            waits_for_used := waits_for_used + part.waits_for_count;
            needs_used := needs_used + part.needs_count;
            IF part.moves_from IS NOT NULL THEN
                PERFORM hookwright.move_lane(
                    part.kind, part.project, part.moves_from, part.moves_to);
            END IF;
        END LOOP;
    END IF;
    IF releases_lease = 1 AND fence_lease IS NOT NULL THEN
        DELETE FROM hookwright.leases AS l WHERE l.name = fence_lease AND l.token = fence_token;
    END IF;
    PERFORM hookwright.end_call(client, call_number, call_result);
    RETURN call_result;
END $$;
