-- Claims: the choice of the next piece of work.

-- The first of these records that is not done, or NULL. If others are to be moved because of it,
-- it is locked, so that it cannot become done before they are moved.
CREATE FUNCTION hookwright.first_unfinished(
    record_kind text, project_id bigint, names bytea[], done bytea, is_locked boolean
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    other bytea;
    other_status bytea;
BEGIN
    FOREACH other IN ARRAY names LOOP
        SELECT r.status INTO other_status FROM hookwright.records AS r
            WHERE r.kind = record_kind AND r.project = project_id AND r.name = other;
        IF FOUND AND is_locked AND other_status <> done THEN
            SELECT r.status INTO other_status FROM hookwright.records AS r
                WHERE r.kind = record_kind AND r.project = project_id AND r.name = other
                FOR SHARE;
        END IF;
        IF other_status IS DISTINCT FROM done THEN
            RETURN other;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- The first ready record of a lane behind a place; moves waiting ones aside, up to `moves_max`. If
-- it is to be locked, those that other transactions have locked are passed over.
CREATE FUNCTION hookwright.first_ready(
    record_kind text, project_id bigint, from_lane bytea, aside bytea, done bytea, offers bytea[],
    skip bytea[], lease_prefix bytea, after_rank bigint, after_id bigint, moves_max bigint,
    is_locked boolean, OUT found_name bytea, OUT found_rank bigint, OUT found_id bigint, OUT moved bigint
) LANGUAGE plpgsql AS $$
DECLARE
    candidate record;
    other bytea;
    last_rank bigint := after_rank;
    last_id bigint := after_id;
    is_end boolean := false;
BEGIN
    moved := 0;
    WHILE NOT is_end LOOP
        is_end := true;
        -- Page by page: without a limit, the server would read and sort the whole lane.
        FOR candidate IN
            SELECT r.name, r.rank, r.id, r.waits_for, r.needs FROM hookwright.records AS r
            WHERE r.kind = record_kind AND r.project = project_id AND r.lane = from_lane
                AND (r.rank, r.id) > (last_rank, last_id)
            ORDER BY r.rank, r.id LIMIT 32
        LOOP
            EXIT WHEN moved >= moves_max;
            is_end := false;
            last_rank := candidate.rank;
            last_id := candidate.id;
            CONTINUE WHEN NOT candidate.needs <@ offers OR candidate.name = ANY (skip);
            CONTINUE WHEN lease_prefix IS NOT NULL AND EXISTS (
                SELECT FROM hookwright.leases AS l WHERE l.name = lease_prefix || candidate.name
                    AND NOT hookwright.is_gone(l.worker));
            other := NULL;
            IF candidate.waits_for <> '{}' THEN
                other := hookwright.first_unfinished(
                    record_kind, project_id, candidate.waits_for, done, aside IS NOT NULL);
            END IF;
            IF other IS NULL AND is_locked THEN
                PERFORM FROM hookwright.records AS r WHERE r.kind = record_kind
                    AND r.project = project_id AND r.name = candidate.name AND r.lane = from_lane
                    FOR UPDATE SKIP LOCKED;
                CONTINUE WHEN NOT FOUND;
            END IF;
            IF other IS NULL THEN
                found_name := candidate.name;
                found_rank := candidate.rank;
                found_id := candidate.id;
                RETURN;
            END IF;
            IF aside IS NOT NULL THEN
                -- Not one that another transaction changes at this moment.
                UPDATE hookwright.records AS r SET lane = aside || other || '/'
                    WHERE (r.kind, r.project, r.name) IN (
                        SELECT w.kind, w.project, w.name FROM hookwright.records AS w
                        WHERE w.kind = record_kind AND w.project = project_id
                            AND w.name = candidate.name AND w.lane = from_lane
                        FOR UPDATE SKIP LOCKED
                    );
                moved := moved + 1;
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- Takes the first ready record of all lanes: marks it and grants its lease. Records that another
-- transaction has locked are passed over. A
-- lease whose worker is gone counts as free. `outcome` is 1 if one was taken, 0 if none is ready, and
-- 2 if so many were moved aside that the caller has to ask again.
CREATE FUNCTION hookwright.claim(
    client bytea, call_number bigint, fence_lease bytea, fence_token bigint,
    record_kind text, project_path bytea,
    lanes bytea[], lane_leases bytea[], lane_tokens bigint[], asides bytea[],
    done bytea, offers bytea[], skip bytea[], new_status bytea, new_lane bytea, new_note bytea,
    lease_prefix bytea, lease_holder bytea, lease_worker bytea, moves_max bigint,
    OUT outcome bigint, OUT old_version bigint, OUT new_version bigint, OUT token bigint,
    OUT record_name bytea, OUT created_at bigint, OUT id bigint, OUT old_status bytea,
    OUT old_value bytea, OUT old_note bytea
) LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
    project_id bigint := hookwright.project(project_path);
    -- What was found in each lane; a rank of NULL if nothing.
    names bytea[] := array_fill(NULL::bytea, ARRAY[cardinality(lanes)]);
    ranks bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(lanes)]);
    ids bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(lanes)]);
    found_one record;
    best integer;
    -- Of several lanes one has the record to take, and the first of the others stay for others.
    is_only_lane boolean := cardinality(lanes) = 1;
    moves_left bigint := moves_max;
    known_texts bytea[];
BEGIN
    IF call_result IS NOT NULL THEN
        outcome := call_result[1];
        IF outcome = 1 THEN
            SELECT c.texts INTO known_texts FROM hookwright.clients AS c WHERE c.id = client;
            old_version := call_result[2];
            new_version := call_result[3];
            token := call_result[4];
            record_name := known_texts[1];
            old_status := known_texts[2];
            old_note := known_texts[3];
            SELECT r.created_at, r.id, r.value INTO created_at, id, old_value
                FROM hookwright.records AS r WHERE r.kind = record_kind
                AND r.project = project_id AND r.name = record_name;
        END IF;
        RETURN;
    END IF;
    IF fence_lease IS NOT NULL THEN
        PERFORM hookwright.check_fence(fence_lease, fence_token);
    END IF;
    PERFORM hookwright.check_worker(lease_worker);
    FOR place IN 1 .. cardinality(lanes) LOOP
        CONTINUE WHEN lane_leases[place] IS NOT NULL
            AND NOT hookwright.lease_is(lane_leases[place], lane_tokens[place]);
        SELECT * INTO found_one FROM hookwright.first_ready(
            record_kind, project_id, lanes[place], asides[place], done, offers, skip,
            lease_prefix, -9223372036854775808, 0, moves_left, is_only_lane);
        moves_left := moves_left - found_one.moved;
        names[place] := found_one.found_name;
        ranks[place] := found_one.found_rank;
        ids[place] := found_one.found_id;
        -- What was not looked at may come before anything that was found.
        IF moves_left <= 0 THEN
            outcome := 2;
            PERFORM hookwright.end_call(client, call_number, ARRAY[outcome]);
            RETURN;
        END IF;
    END LOOP;
    LOOP
        best := NULL;
        FOR place IN 1 .. cardinality(lanes) LOOP
            IF ranks[place] IS NOT NULL AND (best IS NULL
                OR (ranks[place], ids[place]) < (ranks[best], ids[best])) THEN
                best := place;
            END IF;
        END LOOP;
        EXIT WHEN best IS NULL;
        SELECT r.version, r.created_at, r.id, r.status, r.value, r.claim_note
            INTO old_version, created_at, id, old_status, old_value, old_note
            FROM hookwright.records AS r
            WHERE r.kind = record_kind AND r.project = project_id AND r.name = names[best]
                AND r.lane = lanes[best]
            FOR UPDATE SKIP LOCKED;
        IF FOUND AND lease_prefix IS NOT NULL THEN
            INSERT INTO hookwright.leases AS l (name, token, holder, worker)
                VALUES (lease_prefix || names[best], 0, lease_holder, lease_worker)
                ON CONFLICT (name) DO UPDATE
                    SET holder = lease_holder, worker = lease_worker, stops = 0
                    WHERE hookwright.is_gone(l.worker);
        END IF;
        IF FOUND THEN
            record_name := names[best];
            EXIT;
        END IF;
        SELECT * INTO found_one FROM hookwright.first_ready(
            record_kind, project_id, lanes[best], asides[best], done, offers, skip,
            lease_prefix, ranks[best], ids[best], moves_left, is_only_lane);
        moves_left := moves_left - found_one.moved;
        names[best] := found_one.found_name;
        ranks[best] := found_one.found_rank;
        ids[best] := found_one.found_id;
        IF moves_left <= 0 THEN
            outcome := 2;
            PERFORM hookwright.end_call(client, call_number, ARRAY[outcome]);
            RETURN;
        END IF;
    END LOOP;
    IF best IS NULL THEN
        outcome := 0;
        IF moves_left < moves_max THEN
            PERFORM hookwright.end_call(client, call_number, ARRAY[outcome]);
        END IF;
        RETURN;
    END IF;
    outcome := 1;
    new_version := nextval('hookwright.revisions');
    UPDATE hookwright.records AS r
        SET version = new_version, status = new_status, lane = new_lane, claim_note = new_note,
            rank = CASE WHEN new_lane IS NULL THEN NULL ELSE r.rank END
        WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name;
    token := 0;
    IF lease_prefix IS NOT NULL THEN
        token := nextval('hookwright.revisions');
        UPDATE hookwright.leases AS l SET token = claim.token
            WHERE l.name = lease_prefix || record_name;
    END IF;
    PERFORM hookwright.end_call(
        client, call_number, ARRAY[outcome, old_version, new_version, token]);
    UPDATE hookwright.clients AS c SET texts = ARRAY[record_name, old_status, old_note]
        WHERE c.id = client;
END $$;
