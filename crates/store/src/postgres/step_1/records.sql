-- Records.

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
