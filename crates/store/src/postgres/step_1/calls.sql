-- The first version of the tables and functions, in several files. Released steps never change.
--
-- Names and values are `bytea`, because `text` cannot hold a NUL character. Every function makes
-- one change of the store and is one statement of the client, so no transaction is open between
-- two messages.

-- Calls that change something. This file is the first of the step.

-- Gives numbers to versions of records and to tokens of leases.
CREATE SEQUENCE hookwright.revisions AS bigint;

-- The last call of each process that has changed something, with its result. A call that is sent
-- again after an error, or that arrives late, finds its number here and changes nothing.
CREATE TABLE hookwright.clients (
    id bytea PRIMARY KEY,
    number bigint NOT NULL,
    result bigint[] NOT NULL,
    -- The texts of the result of a claim.
    texts bytea[] NOT NULL DEFAULT '{}',
    -- When it was created or last used, to the day.
    created timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX clients_by_age ON hookwright.clients (created);

-- The number of changes of this store, in parts, so that commits do not wait for each other.
CREATE TABLE hookwright.changes (slot integer PRIMARY KEY, count bigint NOT NULL)
    WITH (fillfactor = 50);
INSERT INTO hookwright.changes SELECT slot, 0 FROM generate_series(0, 255) AS slot;

-- Syncs this transaction to the disk, whatever the server's settings are, and bounds its waiting.
CREATE FUNCTION hookwright.begin_change() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- Both last until the end of this transaction.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM set_config('lock_timeout', '20s', true);
END $$;

-- Counts a change of the store.
CREATE FUNCTION hookwright.count_change() RETURNS void LANGUAGE sql AS $$
    UPDATE hookwright.changes AS c SET count = c.count + 1 WHERE c.slot = pg_backend_pid() % 256
$$;

-- Begins a call that changes something. Returns the result if the call was made before, and NULL
-- if it is new. Until this transaction ends, the same client's calls wait.
CREATE FUNCTION hookwright.begin_call(client bytea, call_number bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    found_number bigint;
    found_result bigint[];
BEGIN
    PERFORM hookwright.begin_change();
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
    UPDATE hookwright.clients AS c SET number = call_number, result = call_result,
        -- A process that runs for long must not lose the row that a repetition looks for. The index
        -- is changed once a day.
        created = CASE WHEN c.created < now() - interval '1 day' THEN now() ELSE c.created END
        WHERE c.id = client;
    PERFORM hookwright.count_change();
END $$;
