-- Projects and their journals.

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
