-- The first version of the tables and functions. Released steps never change.
--
-- Names and values are `bytea`, because `text` cannot hold a NUL character. Every function makes
-- one change of the store and is one statement of the client, so no transaction is open between
-- two messages.

-- Gives numbers to versions of records and to tokens of leases.
CREATE SEQUENCE hookwright.revisions AS bigint;

-- A project's path can be longer than an entry of an index, so it is found by its digest.
CREATE TABLE hookwright.projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    path bytea NOT NULL
);

-- `id` is never reused, so a reader of a journal that was dropped and started again finds no
-- entries instead of wrong ones. `last` is the last sequence number.
CREATE TABLE hookwright.journals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project bigint NOT NULL,
    session bytea NOT NULL,
    last bigint NOT NULL,
    UNIQUE (project, session)
) WITH (fillfactor = 50);

CREATE TABLE hookwright.entries (
    journal bigint NOT NULL,
    sequence bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (journal, sequence)
);

-- Dropped journals whose entries still exist; `reclaim` deletes them.
CREATE TABLE hookwright.dropped_journals (id bigint PRIMARY KEY);

-- The indexes contain all that a filter uses. `version` and `value` are in none of them, so most
-- updates touch no index.
CREATE TABLE hookwright.records (
    kind text COLLATE "C" NOT NULL,
    project bigint NOT NULL,
    name bytea NOT NULL,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    status bytea NOT NULL,
    lane bytea,
    rank bigint,
    -- What a claim looks at: names of records that come first, and labels.
    waits_for bytea[] NOT NULL DEFAULT '{}',
    needs bytea[] NOT NULL DEFAULT '{}',
    claim_note bytea,
    value bytea NOT NULL,
    PRIMARY KEY (kind, project, name)
) WITH (fillfactor = 80);
CREATE INDEX records_of_all
    ON hookwright.records (kind, created_at, id) INCLUDE (status, name);
CREATE INDEX records_of_project
    ON hookwright.records (kind, project, created_at, id) INCLUDE (status, name);
CREATE INDEX records_of_all_with_status
    ON hookwright.records (kind, status, created_at, id) INCLUDE (name);
CREATE INDEX records_of_project_with_status
    ON hookwright.records (kind, project, status, created_at, id) INCLUDE (name);
CREATE INDEX records_in_lanes
    ON hookwright.records (kind, project, lane, rank, id) WHERE lane IS NOT NULL;

CREATE TABLE hookwright.leases (
    name bytea PRIMARY KEY,
    token bigint NOT NULL,
    holder bytea NOT NULL
);

-- The last call of each process that has changed something, with its result. A call that is sent
-- again after an error, or that arrives late, finds its number here and changes nothing.
CREATE TABLE hookwright.clients (
    id bytea PRIMARY KEY,
    number bigint NOT NULL,
    result bigint[] NOT NULL,
    -- The texts of the result of a claim.
    texts bytea[] NOT NULL DEFAULT '{}',
    created timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX clients_by_age ON hookwright.clients (created);

-- The number of changes of this store, in parts, so that commits do not wait for each other.
CREATE TABLE hookwright.changes (slot integer PRIMARY KEY, count bigint NOT NULL)
    WITH (fillfactor = 50);
INSERT INTO hookwright.changes SELECT slot, 0 FROM generate_series(0, 255) AS slot;

-- Begins a call that changes something. Returns the result if the call was made before, and NULL
-- if it is new. Until this transaction ends, the same client's calls wait.
CREATE FUNCTION hookwright.begin_call(client bytea, call_number bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    found_number bigint;
    found_result bigint[];
BEGIN
    -- Both last until the end of this transaction.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM set_config('lock_timeout', '20s', true);
    LOOP
        SELECT c.number, c.result INTO found_number, found_result
            FROM hookwright.clients AS c WHERE c.id = client FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO hookwright.clients (id, number, result) VALUES (client, 0, '{}')
            ON CONFLICT DO NOTHING;
        -- More than one, so that they do not pile up.
        DELETE FROM hookwright.clients AS old WHERE old.id IN (
            SELECT c.id FROM hookwright.clients AS c WHERE c.created < now() - interval '7 days'
            ORDER BY c.created LIMIT 8 FOR UPDATE SKIP LOCKED
        );
    END LOOP;
    IF found_number = call_number THEN
        RETURN found_result;
    ELSIF found_number > call_number THEN
        RAISE EXCEPTION 'a late call' USING ERRCODE = 'HW004';
    END IF;
    RETURN NULL;
END $$;

-- Ends a call that has changed something.
CREATE FUNCTION hookwright.end_call(client bytea, call_number bigint, call_result bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hookwright.clients AS c SET number = call_number, result = call_result
        WHERE c.id = client;
    UPDATE hookwright.changes AS c SET count = c.count + 1 WHERE c.slot = pg_backend_pid() % 256;
END $$;

-- The id of a project; creates it if there is none.
CREATE FUNCTION hookwright.project(project_path bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found_id bigint;
BEGIN
    LOOP
        SELECT p.id INTO found_id FROM hookwright.projects AS p
            WHERE p.digest = sha256(project_path);
        EXIT WHEN FOUND;
        INSERT INTO hookwright.projects (digest, path) VALUES (sha256(project_path), project_path)
            ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN found_id;
END $$;

-- Fails unless the lease is held with this token. The lease cannot change hands before the end of
-- this transaction.
CREATE FUNCTION hookwright.check_fence(lease bytea, lease_token bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    current_token bigint;
BEGIN
    SELECT l.token INTO current_token FROM hookwright.leases AS l WHERE l.name = lease FOR SHARE;
    IF current_token IS DISTINCT FROM lease_token THEN
        RAISE EXCEPTION 'fenced' USING ERRCODE = 'HW001',
            DETAIL = coalesce(current_token::text, '');
    END IF;
END $$;

CREATE FUNCTION hookwright.drop_journal(project_path bytea, session_name bytea) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    dropped bigint;
BEGIN
    DELETE FROM hookwright.journals AS j
        WHERE j.project = hookwright.project(project_path) AND j.session = session_name
        RETURNING j.id INTO dropped;
    IF FOUND THEN
        INSERT INTO hookwright.dropped_journals (id) VALUES (dropped);
    END IF;
END $$;

-- Appends to a journal and returns its last sequence number.
CREATE FUNCTION hookwright.append(
    project_path bytea, session_name bytea, expected bigint, new_entries bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    project_id bigint := hookwright.project(project_path);
    journal_id bigint;
    found_last bigint;
    new_last bigint;
BEGIN
    LOOP
        SELECT j.id, j.last INTO journal_id, found_last FROM hookwright.journals AS j
            WHERE j.project = project_id AND j.session = session_name FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        IF expected <> 0 OR cardinality(new_entries) = 0 THEN
            found_last := 0;
            EXIT;
        END IF;
        INSERT INTO hookwright.journals (project, session, last)
            VALUES (project_id, session_name, 0) ON CONFLICT DO NOTHING;
    END LOOP;
    IF found_last <> expected THEN
        RAISE EXCEPTION 'journal conflict' USING ERRCODE = 'HW002', DETAIL = found_last::text;
    END IF;
    new_last := expected + cardinality(new_entries);
    IF cardinality(new_entries) > 0 THEN
        INSERT INTO hookwright.entries (journal, sequence, value)
            SELECT journal_id, expected + new.place, new.value
            FROM unnest(new_entries) WITH ORDINALITY AS new (value, place);
        UPDATE hookwright.journals AS j SET last = new_last WHERE j.id = journal_id;
    END IF;
    RETURN new_last;
END $$;

-- Fails with the number of the expectation and the version that was found.
CREATE FUNCTION hookwright.record_conflict(part text, place bigint, found_version bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'record conflict' USING ERRCODE = 'HW003',
        DETAIL = format('%s %s %s', part, place, coalesce(found_version::text, ''));
END $$;

-- Whether a record is in an expected state: -1 is any, 0 is absent, the rest are versions.
CREATE FUNCTION hookwright.is_expected(expected bigint, found_version bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE expected WHEN -1 THEN true WHEN 0 THEN found_version IS NULL
        ELSE coalesce(found_version = expected, false) END
$$;

-- Checks that a record is in an expected state, which no other transaction can change before this
-- one ends.
CREATE FUNCTION hookwright.expect(
    record_kind text, project_path bytea, record_name bytea, expected bigint, place bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    project_id bigint := hookwright.project(project_path);
    found_version bigint;
BEGIN
    LOOP
        SELECT r.version INTO found_version FROM hookwright.records AS r
            WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name
            FOR SHARE;
        EXIT WHEN FOUND OR expected <> 0;
        -- A new record that is deleted again makes others wait that want to create it.
        INSERT INTO hookwright.records (kind, project, name, version, created_at, status, value)
            VALUES (record_kind, project_id, record_name, 0, 0, '', '') ON CONFLICT DO NOTHING;
        IF FOUND THEN
            DELETE FROM hookwright.records AS r
                WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name;
            EXIT;
        END IF;
    END LOOP;
    IF NOT hookwright.is_expected(expected, found_version) THEN
        PERFORM hookwright.record_conflict('expect', place, found_version);
    END IF;
END $$;

CREATE FUNCTION hookwright.delete_record(
    record_kind text, project_path bytea, record_name bytea, expected bigint, place bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    project_id bigint := hookwright.project(project_path);
    found_version bigint;
BEGIN
    SELECT r.version INTO found_version FROM hookwright.records AS r
        WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name FOR UPDATE;
    IF NOT hookwright.is_expected(expected, found_version) THEN
        PERFORM hookwright.record_conflict('delete', place, found_version);
    END IF;
    DELETE FROM hookwright.records AS r
        WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name;
END $$;

-- Writes a record and returns its new version, which is drawn while the record is locked.
CREATE FUNCTION hookwright.put_record(
    record_kind text, project_path bytea, record_name bytea, expected bigint, place bigint,
    new_value bytea, new_created_at bigint, new_status bytea, new_lane bytea, new_rank bigint,
    new_waits_for bytea[], new_needs bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    project_id bigint := hookwright.project(project_path);
    there record;
    new_version bigint;
BEGIN
    LOOP
        SELECT r.version, r.status, r.lane, r.rank INTO there FROM hookwright.records AS r
            WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name
            FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        IF expected > 0 THEN
            PERFORM hookwright.record_conflict('put', place, NULL);
        END IF;
        INSERT INTO hookwright.records
            (kind, project, name, version, created_at, status, lane, rank, waits_for, needs, value)
            VALUES (record_kind, project_id, record_name, nextval('hookwright.revisions'),
                new_created_at, new_status, new_lane, new_rank, new_waits_for, new_needs,
                new_value)
            ON CONFLICT DO NOTHING RETURNING version INTO new_version;
        IF FOUND THEN
            RETURN new_version;
        END IF;
    END LOOP;
    IF NOT hookwright.is_expected(expected, there.version) THEN
        PERFORM hookwright.record_conflict('put', place, there.version);
    END IF;
    new_version := nextval('hookwright.revisions');
    UPDATE hookwright.records AS r
        SET version = new_version, value = new_value, status = new_status, lane = new_lane,
            rank = new_rank, waits_for = new_waits_for, needs = new_needs, claim_note = NULL
        WHERE r.kind = record_kind AND r.project = project_id AND r.name = record_name;
    RETURN new_version;
END $$;

-- Moves all records of one lane to another.
CREATE FUNCTION hookwright.move_lane(
    record_kind text, project_path bytea, from_lane bytea, to_lane bytea
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hookwright.records AS r SET lane = to_lane
        WHERE r.kind = record_kind AND r.project = hookwright.project(project_path)
            AND r.lane = from_lane;
END $$;

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
    put_needs bytea[], put_needs_counts bigint[]
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
    PERFORM hookwright.end_call(client, call_number, call_result);
    RETURN call_result;
END $$;

-- Takes a lease. Returns the token and the holder; `is_granted` says whether that is the caller.
-- The token is drawn while the lease is locked, so that every grant has a higher one.
CREATE FUNCTION hookwright.acquire(
    client bytea, call_number bigint, lease bytea, new_holder bytea, instead_of bigint,
    OUT is_granted boolean, OUT token bigint, OUT holder bytea
) LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
    is_new boolean := false;
BEGIN
    IF call_result IS NOT NULL THEN
        is_granted := true;
        token := call_result[1];
        holder := new_holder;
        RETURN;
    END IF;
    LOOP
        SELECT l.token, l.holder INTO token, holder FROM hookwright.leases AS l
            WHERE l.name = lease FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO hookwright.leases AS l (name, token, holder) VALUES (lease, 0, new_holder)
            ON CONFLICT DO NOTHING;
        is_new := FOUND;
    END LOOP;
    IF NOT is_new AND instead_of IS DISTINCT FROM token THEN
        is_granted := false;
        RETURN;
    END IF;
    is_granted := true;
    token := nextval('hookwright.revisions');
    holder := new_holder;
    UPDATE hookwright.leases AS l SET token = acquire.token, holder = new_holder
        WHERE l.name = lease;
    PERFORM hookwright.end_call(client, call_number, ARRAY[acquire.token]);
END $$;

-- Releases a lease; false if this token does not hold it.
CREATE FUNCTION hookwright.release(
    client bytea, call_number bigint, lease bytea, lease_token bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
BEGIN
    IF call_result IS NOT NULL THEN
        RETURN true;
    END IF;
    DELETE FROM hookwright.leases AS l WHERE l.name = lease AND l.token = lease_token;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM hookwright.end_call(client, call_number, '{}');
    RETURN true;
END $$;

-- Whether a lease is held with this token, or free if that is NULL. It stays so until the end of
-- this transaction.
CREATE FUNCTION hookwright.lease_is(lease bytea, lease_token bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    current_token bigint;
BEGIN
    LOOP
        SELECT l.token INTO current_token FROM hookwright.leases AS l WHERE l.name = lease
            FOR SHARE;
        IF FOUND OR lease_token IS NOT NULL THEN
            RETURN current_token IS NOT DISTINCT FROM lease_token;
        END IF;
        -- A new lease that is deleted again makes others wait that want to take it.
        INSERT INTO hookwright.leases (name, token, holder) VALUES (lease, 0, '')
            ON CONFLICT DO NOTHING;
        IF FOUND THEN
            DELETE FROM hookwright.leases AS l WHERE l.name = lease;
            RETURN true;
        END IF;
    END LOOP;
END $$;

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

-- The first ready record of a lane behind a place; moves waiting ones aside, up to `moves_max`.
CREATE FUNCTION hookwright.first_ready(
    record_kind text, project_id bigint, from_lane bytea, aside bytea, done bytea, offers bytea[],
    skip bytea[], lease_prefix bytea, after_rank bigint, after_id bigint, moves_max bigint,
    OUT found_name bytea, OUT found_rank bigint, OUT found_id bigint, OUT moved bigint
) LANGUAGE plpgsql AS $$
DECLARE
    candidate record;
    other bytea;
BEGIN
    moved := 0;
    FOR candidate IN
        SELECT r.name, r.rank, r.id, r.waits_for, r.needs FROM hookwright.records AS r
        WHERE r.kind = record_kind AND r.project = project_id AND r.lane = from_lane
            AND (r.rank, r.id) > (after_rank, after_id)
        ORDER BY r.rank, r.id
    LOOP
        EXIT WHEN moved >= moves_max;
        CONTINUE WHEN NOT candidate.needs <@ offers OR candidate.name = ANY (skip);
        CONTINUE WHEN lease_prefix IS NOT NULL AND EXISTS (
            SELECT FROM hookwright.leases AS l WHERE l.name = lease_prefix || candidate.name);
        other := NULL;
        IF candidate.waits_for <> '{}' THEN
            other := hookwright.first_unfinished(
                record_kind, project_id, candidate.waits_for, done, aside IS NOT NULL);
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
END $$;

-- Takes the first ready record of all lanes: marks it and grants its lease. Records that another
-- transaction has locked are passed over. `outcome` is 1 if one was taken, 0 if none is ready, and
-- 2 if so many were moved aside that the caller has to ask again.
CREATE FUNCTION hookwright.claim(
    client bytea, call_number bigint, fence_lease bytea, fence_token bigint,
    record_kind text, project_path bytea,
    lanes bytea[], lane_leases bytea[], lane_tokens bigint[], asides bytea[],
    done bytea, offers bytea[], skip bytea[], new_status bytea, new_lane bytea, new_note bytea,
    lease_prefix bytea, lease_holder bytea, moves_max bigint,
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
    FOR place IN 1 .. cardinality(lanes) LOOP
        CONTINUE WHEN lane_leases[place] IS NOT NULL
            AND NOT hookwright.lease_is(lane_leases[place], lane_tokens[place]);
        SELECT * INTO found_one FROM hookwright.first_ready(
            record_kind, project_id, lanes[place], asides[place], done, offers, skip,
            lease_prefix, -9223372036854775808, 0, moves_left);
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
            INSERT INTO hookwright.leases (name, token, holder)
                VALUES (lease_prefix || names[best], 0, lease_holder) ON CONFLICT DO NOTHING;
        END IF;
        IF FOUND THEN
            record_name := names[best];
            EXIT;
        END IF;
        SELECT * INTO found_one FROM hookwright.first_ready(
            record_kind, project_id, lanes[best], asides[best], done, offers, skip,
            lease_prefix, ranks[best], ids[best], moves_left);
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

-- Deletes some entries of one dropped journal; at least one, if there are any. Returns their
-- number, and NULL if no journal is left.
CREATE FUNCTION hookwright.reclaim(entries_max bigint, bytes_max bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    journal_id bigint;
    last_sequence bigint;
    deleted bigint;
BEGIN
    SELECT d.id INTO journal_id FROM hookwright.dropped_journals AS d
        ORDER BY d.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT max(portion.sequence) INTO last_sequence FROM (
        SELECT e.sequence, row_number() OVER sums AS place,
            sum(octet_length(e.value)) OVER sums AS bytes
        FROM (
            SELECT first.sequence, first.value FROM hookwright.entries AS first
            WHERE first.journal = journal_id ORDER BY first.sequence LIMIT entries_max
        ) AS e
        WINDOW sums AS (ORDER BY e.sequence ROWS UNBOUNDED PRECEDING)
    ) AS portion WHERE portion.place = 1 OR portion.bytes <= bytes_max;
    DELETE FROM hookwright.entries AS e
        WHERE e.journal = journal_id AND e.sequence <= last_sequence;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    IF deleted = 0 THEN
        DELETE FROM hookwright.dropped_journals AS d WHERE d.id = journal_id;
    END IF;
    RETURN deleted;
END $$;
